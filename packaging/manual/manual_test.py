#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether manual pages and completions say what --help says: no option more, none less.

    manual_test.py FOLDER PROGRAM...      FOLDER as make_manual.py has made it; run by CTest

Help is read here in a way of its own, so that a mistake of make_manual.py's reader shows.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FOLDER, PROGRAMS = pathlib.Path(sys.argv[1]), [pathlib.Path(p) for p in sys.argv[2:]]
FLAG = re.compile(r"^  ((?:-\w,)?--?[\w-]+)(?=[ \n]|$)", re.M)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def helps(program, path):
    """{path: {option}} of a command and all below it, and {path: [command]}."""
    text = run(str(program), *path[1:], "--help")
    options = {" ".join(path): {name for names in FLAG.findall(text) for name in names.split(",")}}
    commands = {}
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
    if below:
        names = re.findall(r"^  (\S+)", below[1], re.M)
        names = [n for n in names if n[0] not in "-("]
        commands[" ".join(path)] = names
        for name in names:
            more_options, more_commands = helps(program, path + [name])
            options.update(more_options)
            commands.update(more_commands)
    return options, commands


def page_options(program, page):
    """{path: {option}} of a manual page's source."""
    found, path = {}, program
    for line in page.replace("\\-", "-").splitlines():
        if line.startswith(".SS "):
            path = f"{program} " + line[4:].strip('"')
        elif line == ".SH OPTIONS":
            path = program
        elif line.startswith(".SH "):
            path = ""
        if path and not line.startswith("."):
            found.setdefault(path, set())
            if re.match(r"\\fB-", line):
                found[path] |= set(re.findall(r"\\fB(-[\w-]+)\\fR", line))
    return found


def differences(wanted, found):
    lines = []
    for path in sorted(set(wanted) | set(found)):
        for option in sorted(wanted.get(path, set()) - found.get(path, set())):
            lines.append(f"{path}: {option} is in --help alone")
        for option in sorted(found.get(path, set()) - wanted.get(path, set())):
            lines.append(f"{path}: {option} is not in --help")
    return lines


def bash_completions(program, lines):
    """What bash offers at the end of each line, by its function."""
    script = f"source {FOLDER}/bash/{program}\n" + """
    while IFS= read -r line; do
      read -ra COMP_WORDS <<<"$line"
      [[ "$line" == *" " ]] && COMP_WORDS+=("")
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      "$1"
      echo "${COMPREPLY[*]}"
    done
    """
    function = "_" + program.replace("-", "_")
    done = subprocess.run(["bash", "-c", script, "bash", function], input="\n".join(lines) + "\n",
                          check=True, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def typed(shell, start, keys, wanted, seconds=60):
    """Which of `wanted` an interactive shell does not show when `keys` are typed into it."""
    env = dict(os.environ, TERM="dumb", PS1="> ", HISTFILE="/dev/null", INPUTRC="/dev/null")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(shell[0], shell, env)
    try:
        os.write(terminal, f"{start}; echo rea''dy\n".encode())
        missing = until(terminal, ["ready"], seconds)
        os.write(terminal, keys.encode())
        return missing + until(terminal, wanted, seconds)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def until(terminal, wanted, seconds):
    """Waits until all of `wanted` are shown, so long at most; those that are not."""
    shown, end = "", time.monotonic() + seconds
    missing = wanted
    while missing and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
            text = plain(shown)
            missing = [one for one in wanted if one not in text]
    return missing


def plain(shown):
    """What is on a terminal when all that was written to it has taken effect, roughly."""
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x07", "", shown)
    while "\b" in shown:
        shown = re.sub(r"[^\b]?\x08", "", shown, count=1)
    return re.sub(r" +", " ", shown)


class ManualTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.helps = {program.name: helps(program, [program.name]) for program in PROGRAMS}

    def page(self, program):
        return next((FOLDER / "man").glob(f"{program}.[18]")).read_text()

    def test_pages_have_the_options_of_help(self):
        for program, (options, _) in self.helps.items():
            self.assertGreater(len(options), 1)
            found = page_options(program, self.page(program))
            self.assertEqual(differences(options, found), [], program)

    def test_a_difference_is_found(self):
        for program, (options, _) in self.helps.items():
            page = self.page(program)
            less = re.sub(r"^\.TP\n\\fB\\-\\-(json|check)\\fR.*\n.*\n", "", page, count=1, flags=re.M)
            more = page.replace(".SH COMMANDS", ".TP\n\\fB\\-\\-new\\fR\n.SH COMMANDS")
            self.assertEqual(len(differences(options, page_options(program, less))), 1)
            self.assertEqual(differences(options, page_options(program, more)),
                             [f"{program}: --new is not in --help"])

    def test_pages_are_well_formed(self):
        for program in self.helps:
            page = next((FOLDER / "man").glob(f"{program}.[18]"))
            if shutil.which("mandoc"):
                lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page],
                                      capture_output=True, text=True).stdout
                lint = [line for line in lint.splitlines() if "missing date" not in line]
                self.assertEqual(lint, [])
            if shutil.which("man"):
                shown = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page],
                                       capture_output=True, text=True,
                                       env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8"))
                self.assertEqual(shown.stderr, "")
                self.assertIn("EXIT STATUS", shown.stdout)
            self.assertRegex(page.read_text(), r"\.SH NAME\n[\w\\-]+ \\- \w")

    def test_bash_offers_what_help_says(self):
        for program, (options, commands) in self.helps.items():
            paths = sorted(options)
            for path, words in zip(paths, bash_completions(program, [f"{p} -" for p in paths])):
                self.assertEqual(sorted(words), sorted(options[path]), path)
            paths = sorted(commands)
            for path, words in zip(paths, bash_completions(program, [f"{p} " for p in paths])):
                self.assertEqual(words, commands[path], path)

    @unittest.skipUnless("heft" in [p.name for p in PROGRAMS], "heft is not built")
    def test_bash_offers_values(self):
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                pathlib.Path("face.ct").touch()
                lines = {"heft trust rev": ["revoke"], "heft evaluate --split t": ["train", "test"],
                         "heft evaluate --split = v": ["val"], "heft train --seed ": [],
                         "heft train --data fa": ["face.ct"], "heft encrypt --in face.ct fa": ["face.ct"],
                         "heft train --no-exact --thr": ["--threads"], "heft nothing": [],
                         "heft study pro": ["protection", "protocol"], "heft study gallery fa": ["face.ct"]}
                self.assertEqual(dict(zip(lines, bash_completions("heft", list(lines)))), lines)
            finally:
                os.chdir(here)

    @unittest.skipUnless("heft" in [p.name for p in PROGRAMS], "heft is not built")
    def test_bash_at_a_terminal(self):
        missing = typed(["bash", "--norc", "-i"], f"source {FOLDER}/bash/heft; complete -p heft",
                        "heft trai\t--recip\tx \x01echo \n", ["\nheft train --recipe x"])
        self.assertEqual(missing, [])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    @unittest.skipUnless("heft" in [p.name for p in PROGRAMS], "heft is not built")
    def test_zsh_at_a_terminal(self):
        start = f"PROMPT='> '; fpath=({FOLDER}/zsh $fpath); autoload -U compinit; compinit -u -D"
        for keys, wanted in [("heft trai\t--recip\tx", ["heft train", "--recipe x"]),
                             ("heft trust rev\t--tru\tx", ["heft trust revoke", "--trust x"]),
                             ("heft evaluate --split v\tx", ["--split val x"]),
                             ("heft study ga\t--distr\tx", ["heft study gallery --distractors x"]),
                             ("heft re\t\t", ["rekey", "remove", "replace a secret"])]:
            self.assertEqual(typed(["zsh", "-f", "-i"], start, keys, wanted), [])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_reads_all(self):
        for program, (options, _) in self.helps.items():
            file = FOLDER / "zsh" / f"_{program}"
            run("zsh", "-n", str(file))
            text = file.read_text()
            for option in set().union(*options.values()):
                self.assertRegex(text, re.escape(option) + r"\[", program)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
