# SPDX-License-Identifier: Apache-2.0
"""A manual page, in man's macros, of what a program says with --help."""
import re

# Facts that --help does not have, by program.
FILES = {
    "heft-seal": [("secret.key", "the key owner's secret key, which import writes and export reads, mode 0600")],
    "heft-matcher": [("/etc/heft/matcher.toml", "its configuration (docs/operations.md)"),
                     ("/var/lib/heft-matcher", "its galleries, keys and audit log")],
    "heft-decider": [("/etc/heft/decider.toml", "its configuration (docs/operations.md)"),
                     ("/var/lib/heft-decider", "its journal, queue and audit log")],
}
TOOL_FILES = [("trust.heft", "beside a key: the trusted signing keys"),
              ("secret.key.journal", "beside a secret key: the record of openings"),
              ("server.key, audit.key", "in a gallery's folder: the server's secrets")]
TOOL_ENVIRONMENT = [
    ("HEFT_SIMD", "the vector instructions to use, for example \"avx2\" or \"reference\" (default: the best)"),
    ("HEFT_STATE_DIR", "folder of the recorded generations of galleries and the ends of journals "
                       "(default: $XDG_STATE_HOME/heft or ~/.local/state/heft)"),
    ("NO_COLOR", "no colours on a terminal"),
]
DAEMON_ENVIRONMENT = [TOOL_ENVIRONMENT[0],
                      ("CREDENTIALS_DIRECTORY", "from systemd: folder of secrets that a configuration "
                                                "names without a folder")]
SEE_ALSO = {"heft": "heft-server heft-seal heft-paper heft-matcher heft-decider",
            "heft-server": "heft heft-matcher", "heft-seal": "heft heft-server", "heft-paper": "heft",
            "heft-matcher": "heft heft-server heft-decider", "heft-decider": "heft heft-matcher"}


def section_of(program):
    return "8" if program in ("heft-matcher", "heft-decider") else "1"


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha")
    text = text.replace("~", "\\(ti").replace("`", "\\(ga").replace("\"", "\\(dq")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def sentence(text):
    """As it is, with a full stop."""
    return text if text.endswith((".", ":")) and not text.endswith("...") else text + "."


def option_lines(option):
    """What an option takes in words: "TEXT ... REQUIRED", "INT=0 Needs: --all" are CLI11's."""
    names = ", ".join(f"\\fB{escape(name)}\\fR" for name in option.names)
    takes, notes = option.takes, []
    for word, says in [("Excludes: ", "Not together with"), ("Needs: ", "Only together with")]:
        found = re.search(word + r"((?:--?[\w-]+ ?)+)", takes)
        if found:
            notes.append(f"{says} {', '.join(found[1].split())}.")
            takes = takes.replace(found[0], "").strip()
    if takes.endswith("REQUIRED"):
        takes, notes = takes[:-len("REQUIRED")].strip(), ["Required."] + notes
    if "=" in takes:
        takes, default = takes.split("=", 1)
        notes = [f"Default: {default.removesuffix('...').strip()}."] + notes
        takes += " ..." if default.endswith("...") else ""
    about = [sentence(option.about)] if option.about else []
    return [".TP", names + (f" {escape(takes)}" if takes else ""), escape(" ".join(about + notes)) or "\\&"]


def paragraphs(footer):
    """A footer: examples as they are typed, the rest as text."""
    lines = []
    for line in footer.splitlines():
        if line.startswith("  "):
            lines += [".PP", ".EX", escape(line), ".EE"]
        elif line.strip():
            lines.append(escape(line.strip()))
    return lines


def split_footer(footer):
    """(examples and the like, exit codes)."""
    found = re.search(r"^Exit codes: .*\Z", footer, re.M | re.S)
    return (footer[:found.start()].strip(), found[0][len("Exit codes: "):]) if found else (footer, "")


def command_lines(command):
    lines = [f".SS \"{escape(' '.join(command.path[1:]))}\"", escape(sentence(command.about)), ".PP",
             f"\\fB{escape(' '.join(command.path))}\\fR {escape(command.usage)}"]
    for option in command.positionals + command.options:
        lines += option_lines(option)
    text = split_footer(command.footer)[0]
    if text:
        lines += [".PP", *paragraphs(text)]
    return lines


def tagged(title, pairs):
    lines = [f".SH {title}"]
    for name, about in pairs:
        lines += [".TP", f"\\fB{escape(name)}\\fR", escape(sentence(about))]
    return lines


def synopsis(program):
    lines = []
    for command in program.all():
        if not command.commands:
            lines += [f"\\fB{escape(' '.join(command.path))}\\fR {escape(command.usage)}", ".br"]
    return lines[:-1]


def make(program, version):
    name = program.path[0]
    daemon = section_of(name) == "8"
    about = re.sub(r"^HEFT[^:]*: ", "", program.about).rstrip(".")
    about = about[0].lower() + about[1:]
    examples, codes = split_footer(program.footer)
    lines = [".\\\" SPDX-License-Identifier: Apache-2.0", ".\\\" Made from --help.",
             f".TH {name.upper()} {section_of(name)} \"\" \"HEFT {version}\" \"HEFT\"",
             ".SH NAME", f"{escape(name)} \\- {escape(about)}", ".SH SYNOPSIS", ".nh", *synopsis(program),
             ".hy", ".SH OPTIONS"]
    for option in program.options:
        lines += option_lines(option)
    lines.append(".SH COMMANDS")
    for command in list(program.all())[1:]:
        lines += command_lines(command)
    if examples:
        text = paragraphs(examples.replace("Example:\n", ""))
        lines += [".SH EXAMPLES", *text[text[0] == ".PP":]]
    if codes:
        lines += [".SH EXIT STATUS", *paragraphs(sentence(codes))]
    lines += tagged("ENVIRONMENT", DAEMON_ENVIRONMENT if daemon else TOOL_ENVIRONMENT)
    lines += tagged("FILES", FILES.get(name, TOOL_FILES))
    also = [f"\\fB{escape(other)}\\fR({section_of(other)})" for other in SEE_ALSO[name].split()]
    lines += [".SH SEE ALSO", ", ".join(also)]
    return "\n".join(lines) + "\n"
