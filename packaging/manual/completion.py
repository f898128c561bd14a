# SPDX-License-Identifier: Apache-2.0
"""Completions for bash and zsh of what a program says with --help."""
import re
import shlex

BASH = r"""# SPDX-License-Identifier: Apache-2.0
# Completion of @PROGRAM@ for bash. Made from --help.
declare -gA @NAME@_commands=(
@COMMANDS@
)
declare -gA @NAME@_options=(
@OPTIONS@
)
# What options take: "file", "number", words; with "..." several.
declare -gA @NAME@_values=(
@VALUES@
)

@NAME@() {
  local word current="${COMP_WORDS[COMP_CWORD]}" path="@PROGRAM@" option="" arguments=0 i first
  COMPREPLY=()
  [[ "$current" == "=" ]] && current=""
  # The command that the words so far name, and the option whose value stands here, if one's does.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word="${COMP_WORDS[i]}"
    if [[ "$word" == "=" ]]; then
      continue
    elif [[ "$word" == -* ]]; then
      option="$word"
      first=$((i + 1))
      [[ "${COMP_WORDS[first]}" == "=" ]] && ((++first))
    elif [[ -z "$option" && " ${@NAME@_commands[$path]} " == *" $word "* ]]; then
      path+=" $word"
    elif [[ -z "$option" ]]; then
      ((++arguments))
    fi
  done
  # Without an option, what the first argument of the command takes.
  local takes="${@NAME@_values[$path $option]}"
  # Of an option that takes one value, that is the word after it.
  if [[ -n "$option" && "$takes" != *"..." ]] && ((COMP_CWORD > first)); then
    takes=""
  elif [[ -z "$option" ]] && ((arguments > 0)); then
    takes=""
  fi
  if [[ "$current" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${@NAME@_options[$path]}" -- "$current")
  elif [[ "$takes" == file* || ( -z "$takes" && -z "${@NAME@_commands[$path]}" ) ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ "$takes" == number* ]]; then
    return
  elif [[ -n "$takes" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${takes% ...}" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "${@NAME@_commands[$path]}" -- "$current")
  fi
}
complete -F @NAME@ @PROGRAM@
"""


def function_name(path):
    return "_" + re.sub(r"\W", "_", " ".join(path))


def takes(option):
    if option.choices():
        kind = " ".join(option.choices())
    else:
        kind = "number" if option.is_number() else "file"
    return kind + (" ..." if option.is_many() else "")


def table(pairs):
    return "\n".join(f"  [{shlex.quote(key)}]={shlex.quote(value)}" for key, value in pairs)


def bash(program):
    commands, options, values = [], [], []
    for command in program.all():
        path = " ".join(command.path)
        if command.commands:
            commands.append((path, " ".join(c.path[-1] for c in command.commands)))
        options.append((path, " ".join(n for o in command.options for n in o.names)))
        for argument in command.positionals[:1]:
            if argument.choices():
                values.append((f"{path} ", takes(argument)))
        for option in command.options:
            if not option.is_flag():
                values += [(f"{path} {name}", takes(option)) for name in option.names]
    text = BASH.replace("@NAME@", function_name(program.path)).replace("@PROGRAM@", program.path[0])
    for name, pairs in [("COMMANDS", commands), ("OPTIONS", options), ("VALUES", values)]:
        text = text.replace(f"@{name}@", table(pairs))
    return text


def zsh_text(text):
    """Words in a specification of _arguments or _describe."""
    return re.sub(r"([\\:\[\]])", r"\\\1", text)


def zsh_action(option):
    if option.choices():
        return f":{option.names[-1].lstrip('-')}:({' '.join(option.choices())})"
    return f":{'number' if option.is_number() else 'file'}:{' ' if option.is_number() else '_files'}"


def zsh_option(option):
    """One specification a name; none of a name excludes the others, as several values may come."""
    for name in option.names:
        again = "*" if option.is_many() else ""
        others = "" if option.is_many() else f"({' '.join(option.names)})"
        action = "" if option.is_flag() else zsh_action(option)
        yield f"{others}{again}{name}[{zsh_text(option.about)}]{action}"


def zsh_function(command):
    name, lines = function_name(command.path), []
    specs = [spec for option in command.options for spec in zsh_option(option)]
    if command.commands:
        lines.append(f"{name}_commands() {{\n  local -a commands=(")
        lines += [f"    {shlex.quote(c.path[-1] + ':' + zsh_text(c.about))}" for c in command.commands]
        lines += ["  )", "  _describe command commands", "}"]
        specs += [f"1:command:{name}_commands", "*::argument:->command"]
    else:
        specs += [f"1{zsh_action(one)}" for one in command.positionals[:1] if one.choices()]
        specs += ["*:file:_files"]
    lines += [f"{name}() {{", "  local context state state_descr line", "  typeset -A opt_args",
              "  _arguments -C \\"]
    lines += [f"    {shlex.quote(spec)} \\" for spec in specs[:-1]] + [f"    {shlex.quote(specs[-1])}"]
    if command.commands:
        lines += ["  [[ $state == command ]] || return", "  case $line[1] in"]
        lines += [f"    {c.path[-1]}) {function_name(c.path)} ;;" for c in command.commands]
        lines += ["  esac"]
    lines.append("}")
    return lines


def zsh(program):
    name = program.path[0]
    lines = [f"#compdef {name}", "# SPDX-License-Identifier: Apache-2.0",
             f"# Completion of {name} for zsh. Made from --help."]
    for command in program.all():
        lines += zsh_function(command)
    # Sourced by hand it is defined; autoloaded it runs.
    lines += [f"if [[ $funcstack[1] == {function_name(program.path)} ]]; then",
              f"  {function_name(program.path)} \"$@\"", "else",
              f"  compdef {function_name(program.path)} {name}", "fi"]
    return "\n".join(lines) + "\n"
