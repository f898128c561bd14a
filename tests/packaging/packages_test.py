#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packaging/debian/ agrees with what CMake installs: each file is in exactly one package, and versions
are the project's. The bill of materials is true of packages made here.

  packages_test.py SOURCE_DIR BUILD_DIR CMAKE
"""
import copy
import fnmatch
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD, CMAKE = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
DEBIAN = SOURCE / "packaging/debian"

spec = importlib.util.spec_from_file_location("bill_of_materials", SOURCE / "packaging/bill_of_materials.py")
bill = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
spec.loader.exec_module(bill)


def project_version():
    return re.search(r"project\(heft VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)


def packages():
    return re.findall(r"^Package: (\S+)$", (DEBIAN / "control").read_text(), re.MULTILINE)


@functools.cache
def installed_files():
    """What `cmake --install` installs, in the folders that packaging/debian/rules chooses."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", f"{folder}/usr"], check=True, capture_output=True)
        # The extension of PostgreSQL, which is installed where it is asked for; its folders are the server's.
        subprocess.run([CMAKE, "--install", BUILD, "--component", "postgres"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": folder})
        files = [str(path.relative_to(folder)) for path in Path(folder).rglob("*") if not path.is_dir()]
    files = [re.sub(r"^usr/lib/(x86_64-linux-gnu/)?(?=libheft|cmake/|pkgconfig/)", "usr/lib/TRIPLET/", f)
             for f in files]
    return [f.replace("usr/share/zsh/site-functions", "usr/share/zsh/vendor-completions") for f in files]


def patterns(package):
    """What a package takes of those: the first word of each line of its .install file."""
    path = DEBIAN / f"{package}.install"
    lines = path.read_text().splitlines() if path.exists() else []
    words = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    return [word for word in words if word.startswith("usr/")]


def takes(pattern, file):
    # debhelper's * stays within a folder; a folder's name takes all that is in it.
    parts, theirs = pattern.rstrip("/").split("/"), file.split("/")
    return len(parts) <= len(theirs) and all(map(fnmatch.fnmatchcase, theirs, parts))


class Install(unittest.TestCase):
    def test_each_file_is_in_one_package(self):
        files = installed_files()
        self.assertGreater(len(files), 20)
        for file in files:
            owners = [p for p in packages() if any(takes(pattern, file) for pattern in patterns(p))]
            self.assertEqual(len(owners), 1, f"{file} is in {owners or 'no package'}: see packaging/debian/*.install")

    def test_each_pattern_takes_something(self):
        files = installed_files()
        for package in packages():
            if package == "python3-heft" and not any("/dist-packages/" in file for file in files):
                continue  # a build without the Python module: configuring has said so
            if package == "postgresql-15-heft" and not any("/postgresql/" in file for file in files):
                continue  # without the extension: the same
            for pattern in patterns(package):
                self.assertTrue(any(takes(pattern, file) for file in files), f"{package}: {pattern} is not installed")

    def test_files_of_the_sources_are_there(self):
        for path in DEBIAN.glob("*.install"):
            for line in path.read_text().splitlines():
                pattern = line.split()[0]
                if not pattern.startswith("usr/") and not pattern.startswith("build/"):
                    self.assertTrue(list(SOURCE.glob(pattern)), f"{path.name}: {pattern} is not there")

    def test_servers_have_nothing_of_the_key_owner(self):
        for package in ("libheft-server0", "heft-server", "heft-matcher", "postgresql-15-heft"):
            for pattern in patterns(package):
                self.assertFalse(takes(pattern, "usr/lib/TRIPLET/libheft.so.0.2"), package)
                for program in ("heft", "heft-seal"):
                    self.assertFalse(takes(pattern, f"usr/bin/{program}"), package)


class Containers(unittest.TestCase):
    """Rules of the Containerfiles. scripts/try-containers follows their steps and runs what they make."""

    def steps(self, daemon):
        text = (SOURCE / f"packaging/containers/{daemon}.Containerfile").read_text()
        lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
        return [tuple(line.split(None, 1)) for line in lines if line]

    def test_each_daemon_runs_as_a_user_who_is_not_root(self):
        users = set()
        for daemon in ("heft-matcher", "heft-decider"):
            steps = dict(self.steps(daemon))  # of each instruction the last
            self.assertRegex(steps["USER"], r"^([1-9]\d*):\1$")
            users.add(steps["USER"])
            self.assertEqual(json.loads(steps["ENTRYPOINT"])[:2], [f"/usr/bin/{daemon}", "serve"])
            json.loads(steps["HEALTHCHECK"].split("CMD ", 1)[1])
            self.assertIn(f"/var/lib/{daemon}", json.loads(steps["VOLUME"]))
        self.assertEqual(len(users), 2)

    def test_each_image_has_its_package_and_no_secret(self):
        for daemon in ("heft-matcher", "heft-decider"):
            steps = self.steps(daemon)
            self.assertEqual([rest for step, rest in steps if step in ("ADD", "COPY")], [f"{daemon}_*.deb /"])
            installed = [word for step, rest in steps if step == "RUN" for word in rest.split() if word.endswith(".deb")]
            self.assertEqual(installed, [f"/packages/{daemon}_*.deb"])
            names = [rest.split("=")[0] for step, rest in steps if step in ("ARG", "ENV")]
            self.assertLessEqual(set(names), {"HEFT_STATE_DIR", "CREDENTIALS_DIRECTORY"})

    def test_units_and_images_agree(self):
        for daemon in ("heft-matcher", "heft-decider"):
            unit = (SOURCE / f"packaging/systemd/{daemon}.service").read_text()
            socket = (SOURCE / f"packaging/systemd/{daemon}.socket").read_text()
            steps = dict(self.steps(daemon))
            self.assertIn(f"ExecStart={' '.join(json.loads(steps['ENTRYPOINT']))}\n", unit)
            self.assertIn(f"ListenStream={steps['EXPOSE']}\n", socket)
            folders = re.search(r"^StateDirectory=(.*)$", unit, re.MULTILINE).group(1).split()
            self.assertEqual(json.loads(steps["VOLUME"]), [f"/var/lib/{folder}" for folder in folders])
            state = re.search(r"^Environment=(HEFT_STATE_DIR=.*)$", unit, re.MULTILINE).group(1)
            self.assertIn(state, [rest for step, rest in self.steps(daemon) if step == "ENV"])


@unittest.skipUnless(shutil.which("dh_installsystemd"), "skipped: apt install debhelper")
class Services(unittest.TestCase):
    """What an installation, an upgrade and a removal ask of systemd: the rules are run on the units alone."""

    @classmethod
    def setUpClass(cls):
        cls.scripts = {}
        with tempfile.TemporaryDirectory() as folder:
            debian = Path(folder) / "debian"
            debian.mkdir()
            for path in DEBIAN.glob("*"):
                if path.is_file():
                    shutil.copy(path, debian)
            for daemon in ("heft-matcher", "heft-decider"):
                units = debian / daemon / "lib/systemd/system"
                units.mkdir(parents=True)
                for kind in ("service", "socket"):
                    shutil.copy(SOURCE / f"packaging/systemd/{daemon}.{kind}", units)
            for command in (["make", "-f", "debian/rules", "override_dh_installsystemd"],
                            ["dh_installdeb", "-pheft-matcher", "-pheft-decider"]):
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
            for daemon in ("heft-matcher", "heft-decider"):
                for script in ("preinst", "postinst", "prerm"):
                    path = debian / daemon / "DEBIAN" / script
                    cls.scripts[daemon, script] = path.read_text() if path.exists() else ""

    def asked(self, daemon, script):
        lines = self.scripts[daemon, script].splitlines()
        return [line.split(">")[0].split() for line in lines if "deb-systemd-invoke" in line]

    def test_an_upgrade_restarts_the_service_and_leaves_the_socket_open(self):
        for daemon in ("heft-matcher", "heft-decider"):
            self.assertNotIn("stop", self.scripts[daemon, "preinst"])
            # Without "start", which does nothing to what runs, the socket would be closed and opened again.
            self.assertEqual(self.asked(daemon, "postinst"),
                             [["deb-systemd-invoke", "$_dh_action", f"'{daemon}.service'"],
                              ["deb-systemd-invoke", "start", f"'{daemon}.socket'"]])
            self.assertIn("_dh_action=restart", self.scripts[daemon, "postinst"])

    def test_a_removal_stops_both(self):
        for daemon in ("heft-matcher", "heft-decider"):
            script = self.scripts[daemon, "prerm"]
            self.assertEqual(self.asked(daemon, "prerm"),
                             [["deb-systemd-invoke", "stop", f"'{daemon}.socket'"],
                              ["deb-systemd-invoke", "stop", f"'{daemon}.service'"]])
            self.assertEqual(script.count('[ "$1" = remove ]'), 2, "an upgrade would stop it, too")

    def test_an_installation_enables_nothing(self):
        for daemon in ("heft-matcher", "heft-decider"):
            script = self.scripts[daemon, "postinst"]
            self.assertEqual(script.count("deb-systemd-helper enable"), script.count("deb-systemd-helper --quiet was-enabled"))


class Versions(unittest.TestCase):
    def test_changelog_has_the_projects_version(self):
        version = re.match(r"heft \((\S+)-\d+\)", (DEBIAN / "changelog").read_text()).group(1)
        self.assertEqual(version, project_version())

    def test_shared_libraries(self):
        major, minor, _ = project_version().split(".")
        for path, library in (("libheft0", "libheft"), ("libheft-server0", "libheft_server")):
            rows = (DEBIAN / f"{path}.shlibs").read_text().splitlines()
            self.assertIn(f"{library} {major}.{minor} {path} (>= {project_version()}~~), "
                          f"{path} (<< {major}.{int(minor) + 1}~)", rows)

    def test_dependencies_are_listed(self):
        listed = set(re.findall(r"^\| `([^`]+)` \|", (SOURCE / "docs/dependencies.md").read_text(), re.MULTILINE))
        for name in bill.build_dependencies((DEBIAN / "control").read_text()):
            self.assertIn(name, listed, "docs/dependencies.md has no row for a build dependency")

    def test_libraries_that_the_build_needs_are_dependencies(self):
        pages = (SOURCE / "docs/dependencies.md").read_text()
        needed = re.search(r"^## Needed to build the tools$(.*?)^## Needed to fuzz", pages, re.MULTILINE | re.DOTALL).group(1)
        libraries = {name for name in re.findall(r"^\| `([^`]+)` \|", needed, re.MULTILINE) if name.endswith("-dev")}
        of_tests = {"libgtest-dev", "libgmock-dev", "libbenchmark-dev"}
        declared = set(bill.build_dependencies((DEBIAN / "control").read_text()))
        self.assertEqual(libraries - of_tests - declared, set(), "packaging/debian/control lacks a library")


class BillOfMaterials(unittest.TestCase):
    """Of two small packages, one with a program."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.debian = Path(self.folder.name) / "debian"
        for name in ("heft", "heft-doc"):
            (self.debian / name / "DEBIAN").mkdir(parents=True)
            (self.debian / name / "usr").mkdir()
            (self.debian / name / "DEBIAN/control").write_text(
                f"Package: {name}\nVersion: 0.2.0-1\nArchitecture: all\nMaintainer: nobody\nDescription: small\n")
        (self.debian / "heft/usr/program").write_bytes(Path("/bin/true").read_bytes())
        (self.debian / "heft-doc/usr/page").write_text("text")
        (self.debian / "control").write_text(
            "Source: heft\nBuild-Depends:\n cmake (>= 3.22),\n zlib1g-dev\nX: y\n\nPackage: heft\n\nPackage: heft-doc\n")
        (self.debian / "changelog").write_text("heft (0.2.0-1) unstable; urgency=medium\n")
        self.document = bill.describe_build(self.debian, self.debian / "heft-doc/usr/heft.spdx.json")

    def test_is_well_formed_and_the_same_again(self):
        self.assertEqual(list(bill.wrong_of_document(self.document)), [])
        again = bill.describe_build(self.debian, self.debian / "heft-doc/usr/heft.spdx.json")
        self.assertEqual(self.document["documentNamespace"], again["documentNamespace"])

    def test_says_what_is_linked_and_built_with(self):
        said = {(r["spdxElementId"], r["relationshipType"], r["relatedSpdxElement"])
                for r in self.document["relationships"]}
        for row in (("SPDXRef-Package-heft", "DYNAMIC_LINK", "SPDXRef-Debian-libc6"),
                    ("SPDXRef-Debian-zlib1g-dev", "BUILD_DEPENDENCY_OF", "SPDXRef-Source"),
                    ("SPDXRef-Debian-cmake", "BUILD_TOOL_OF", "SPDXRef-Source"),
                    ("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package-heft-doc")):
            self.assertIn(row, said)

    def test_finds_what_is_wrong(self):
        def spoil(change):
            document = copy.deepcopy(self.document)
            change(document)
            return list(bill.wrong_of_document(document))
        other = "0" * 40
        for change in (lambda d: d.update(spdxVersion="SPDX-2.2"),
                       lambda d: d["packages"].append(d["packages"][0]),
                       lambda d: d["packages"].pop(),
                       lambda d: d["packages"][1].pop("licenseDeclared"),
                       lambda d: d["files"][0]["checksums"][0].update(checksumValue=other),
                       lambda d: d["files"][0]["checksums"][1].update(checksumValue="short"),
                       lambda d: d["files"][0].update(fileName="usr/program"),
                       lambda d: d["relationships"][0].update(relatedSpdxElement="SPDXRef-nothing"),
                       lambda d: d.update(relationships=[])):
            self.assertNotEqual(spoil(change), [])

    def test_is_held_against_archives(self):
        archives = []
        for name in ("heft", "heft-doc"):
            archives.append(Path(self.folder.name) / f"{name}.deb")
            subprocess.run(["dpkg-deb", "--root-owner-group", "--build", self.debian / name, archives[-1]],
                           check=True, capture_output=True)
        document = bill.with_archives(json.loads(json.dumps(self.document)), archives)
        for archive in archives:
            self.assertEqual(list(bill.wrong_of_archive(document, archive)), [])
        (self.debian / "heft/usr/more").write_text("not in it")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", self.debian / "heft", archives[0]],
                       check=True, capture_output=True)
        self.assertEqual(len(list(bill.wrong_of_archive(document, archives[0]))), 2)

    def test_refuses_a_library_without_a_licence(self):
        licences = dict(bill.LICENCES)
        bill.LICENCES.pop("glibc")
        self.addCleanup(bill.LICENCES.update, licences)
        bill.installed.cache_clear()
        with self.assertRaisesRegex(bill.Refused, "has no row in LICENCES"):
            bill.installed("libc6")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
