#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bill of materials (SPDX 2.3, JSON) of the Debian packages: their files with checksums, the Debian
packages that they link and were built with, and the licences of those.

  bill_of_materials.py packages DEBIAN_DIR --out FILE   from the folders of a build (debian/rules)
  bill_of_materials.py archives FILE DEB... --out FILE  and with the checksums of the .deb files
  bill_of_materials.py check FILE [DEB...]              is it well formed, and true of these?
"""
import argparse
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

# LICENCES: of linked or compiled source packages, as SPDX expressions. A package without a row
# stops the build, so that its licence is read first.
LICENCES = {
    "abseil": "Apache-2.0",
    "boost-defaults": "BSL-1.0",
    "cli11": "BSD-3-Clause",
    "curl": "curl",
    "eigen3": "MPL-2.0",
    "fmtlib": "MIT",
    "furo": "MIT",
    "gcc-12": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "highway": "Apache-2.0",
    "libb2": "CC0-1.0",
    "libsodium": "ISC",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
    "nlohmann-json3": "MIT",
    "openssl": "Apache-2.0",
    "p11-kit": "BSD-3-Clause",
    "postgresql-15": "PostgreSQL",
    "prometheus-cpp": "MIT",
    "spdlog": "MIT",
    "sphinx": "BSD-2-Clause",
    "sqlite3": "blessing",
    "sphinx-copybutton": "MIT",
    "tomlplusplus": "MIT",
    "utf8proc": "MIT AND Unicode-DFS-2016",
    "valgrind": "bzip2-1.0.6",  # of its headers, which are all that is used
    "xxhash": "BSD-2-Clause",
    "zlib": "Zlib",
}
# Build dependencies that leave no files in a package: tools.
TOOLS = {"breathe", "cmake", "debhelper", "dh-python", "doxygen", "dpkg", "myst-parser", "ninja-build", "pkgconf",
         "pkg-config"}
OWN_LICENCE = "Apache-2.0"


class Refused(Exception):
    """What is wrong, and what to do."""


def run(*command):
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise Refused(f"{' '.join(command)}: {answer.stderr.strip()}")
    return answer.stdout


def spdx_id(*parts):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(parts))


def digest(path, algorithm):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


# ---- Facts from dpkg.

@functools.cache
def installed(name):
    """The Debian package `name` as it is installed, as an SPDX package."""
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\n"
    row = run("dpkg-query", "--show", f"--showformat={form}", name).splitlines()[0].split("\t")
    package, version, architecture, source, source_version = row
    if source in LICENCES:
        licence = LICENCES[source]
    elif source in TOOLS:
        licence = "NOASSERTION"
    else:
        raise Refused(f"{package} (source {source}) has no row in LICENCES of packaging/bill_of_materials.py: "
                      f"read /usr/share/doc/{package}/copyright and add it")
    return {
        "SPDXID": spdx_id("Debian", package),
        "name": package,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from {source} {source_version}",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}"
                                f"?arch={architecture}"}],
    }


def needed(path):
    """The names of shared libraries that an ELF file wants; none of another file."""
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return set()
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "--dynamic", "--wide", str(path))))


@functools.cache
def package_of_library(soname):
    """The installed Debian package with the library that the loader takes for `soname`."""
    found = re.search(rf"^\s*{re.escape(soname)} .*=> (\S+)$", run("ldconfig", "-p"), re.MULTILINE)
    if not found:
        raise Refused(f"{soname} is linked, and not installed here")
    for path in (found.group(1), os.path.realpath(found.group(1)),
                 "/usr" + found.group(1), re.sub("^/usr", "", found.group(1))):
        answer = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return answer.stdout.split(":")[0]
    raise Refused(f"{found.group(1)} belongs to no Debian package")


# ---- The built packages.

def own_files(tree, excluded):
    """The files that a package brings, as SPDX files."""
    files = []
    for path in sorted(p for p in tree.rglob("*") if p.is_file() and not p.is_symlink()):
        name = "./" + str(path.relative_to(tree))
        if name.startswith("./DEBIAN/") or name == excluded:
            continue
        files.append({
            "SPDXID": spdx_id("File", hashlib.sha256(f"{tree.name}{name}".encode()).hexdigest()[:16]),
            "fileName": name,
            "checksums": [{"algorithm": a, "checksumValue": digest(path, a.lower())}
                          for a in ("SHA1", "SHA256")],
            # The site's styles and search are files of Sphinx and Furo.
            "licenseConcluded": "NOASSERTION" if "/html/_static/" in name else OWN_LICENCE,
            "licenseInfoInFiles": ["NOASSERTION"],
            "copyrightText": "NOASSERTION",
        })
    return files


def sha1_of(file):
    return next(c["checksumValue"] for c in file["checksums"] if c["algorithm"] == "SHA1")


def own_package(name, version, files, excluded):
    joined = "".join(sorted(sha1_of(file) for file in files))
    code = {"packageVerificationCodeValue": hashlib.sha1(joined.encode()).hexdigest()}
    if excluded:
        code["packageVerificationCodeExcludedFiles"] = [excluded]
    return {
        "SPDXID": spdx_id("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": code,
        "licenseConcluded": OWN_LICENCE,
        "licenseInfoFromFiles": ["NOASSERTION"],
        "licenseDeclared": OWN_LICENCE,
        "copyrightText": "2026 The HEFT authors",
        "hasFiles": [file["SPDXID"] for file in files],
    }


def build_dependencies(control):
    field = re.search(r"^Build-Depends:(.*?)^\S", control, re.MULTILINE | re.DOTALL).group(1)
    names = [re.split(r"[\s(:\[<]", entry.strip())[0] for entry in field.split(",")]
    tools = {"debhelper-compat", "python3", "python3-all"}
    return [name for name in names if name and name not in tools and not name.startswith("dh-sequence-")]


class Document:
    """A document that grows; dependencies are in it once."""

    def __init__(self, version, when):
        self.relationships, self.packages, self.files = [], {}, []
        self.version, self.when = version, when

    def relate(self, one, kind, other):
        entry = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if entry not in self.relationships:
            self.relationships.append(entry)

    def add(self, package):
        self.packages.setdefault(package["SPDXID"], package)
        return package["SPDXID"]

    def json(self):
        content = json.dumps([list(self.packages.values()), self.files, self.relationships])
        return {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"heft-{self.version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/heft-{self.version}-"
                                 f"{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
            "creationInfo": {
                "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.when)),
                "creators": ["Tool: packaging/bill_of_materials.py"],
                "licenseListVersion": "3.20"},
            "packages": list(self.packages.values()),
            "files": self.files,
            "relationships": self.relationships,
        }


def source_package(version):
    return {"SPDXID": "SPDXRef-Source", "name": "heft", "versionInfo": version, "supplier": "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": OWN_LICENCE,
            "licenseDeclared": OWN_LICENCE, "copyrightText": "2026 The HEFT authors",
            "primaryPackagePurpose": "SOURCE"}


def describe_build(debian, out):
    control = (debian / "control").read_text()
    version = re.match(r"heft \((\S+)\)", (debian / "changelog").read_text()).group(1)
    names = re.findall(r"^Package: (\S+)$", control, re.MULTILINE)
    missing = [name for name in names if not (debian / name).is_dir()]
    if missing:
        raise Refused(f"not built: {', '.join(missing)}; build all packages together (dpkg-buildpackage -b)")
    document = Document(version, int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    source = document.add(source_package(version))
    own_libraries = {path.name: name for name in names for path in (debian / name).rglob("lib*.so.*")}
    for name in names:
        tree = debian / name
        excluded = "./" + str(out.relative_to(tree)) if out.is_relative_to(tree) else None
        files = own_files(tree, excluded)
        package = document.add(own_package(name, version, files, excluded))
        document.files += files
        document.relate("SPDXRef-DOCUMENT", "DESCRIBES", package)
        document.relate(package, "GENERATED_FROM", source)
        for file in files:
            document.relate(package, "CONTAINS", file["SPDXID"])
        for library in sorted(set().union(*(needed(tree / file["fileName"]) for file in files))):
            if library in own_libraries:
                if own_libraries[library] != name:
                    document.relate(package, "DYNAMIC_LINK", spdx_id("Package", own_libraries[library]))
            elif not library.startswith("ld-linux"):
                document.relate(package, "DYNAMIC_LINK", document.add(installed(package_of_library(library))))
    for name in build_dependencies(control) + ["g++-12"]:
        package = installed(name)
        tool = package["licenseDeclared"] == "NOASSERTION" or name == "g++-12"
        document.relate(document.add(package), "BUILD_TOOL_OF" if tool else "BUILD_DEPENDENCY_OF", source)
    return document.json()


def with_archives(document, archives):
    """The document, each of its packages with name and checksum of its .deb file."""
    for archive in archives:
        name = run("dpkg-deb", "--field", str(archive), "Package").strip()
        for package in document["packages"]:
            if package["SPDXID"] == spdx_id("Package", name):
                package["packageFileName"] = archive.name
                package["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest(archive, "sha256")}]
    return document


# ---- Checks.

def wrong_of_packages(document):
    for package in document["packages"]:
        who = package.get("SPDXID", "a package")
        for key in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared",
                    "copyrightText"):
            if not package.get(key):
                yield f"{who} has no {key}"
        if package.get("filesAnalyzed") and "packageVerificationCode" not in package:
            yield f"{who} has files and no verification code"


def wrong_of_files(document):
    lengths = {"SHA1": 40, "SHA256": 64}
    for file in document["files"]:
        if not file["fileName"].startswith("./"):
            yield f"{file['fileName']} does not start with ./"
        for checksum in file["checksums"]:
            if not re.fullmatch(f"[0-9a-f]{{{lengths[checksum['algorithm']]}}}", checksum["checksumValue"]):
                yield f"{file['fileName']}: a {checksum['algorithm']} that is none"
        if not any(c["algorithm"] == "SHA1" for c in file["checksums"]):
            yield f"{file['fileName']} has no SHA1, which SPDX 2.3 asks for"
    by_id = {file["SPDXID"]: file for file in document["files"]}
    for package in document["packages"]:
        if package.get("filesAnalyzed") and set(package.get("hasFiles", [])) <= set(by_id):
            joined = "".join(sorted(sha1_of(by_id[i]) for i in package["hasFiles"]))
            if hashlib.sha1(joined.encode()).hexdigest() != \
                    package["packageVerificationCode"]["packageVerificationCodeValue"]:
                yield f"{package['name']}: its verification code is not that of its files"


def wrong_of_document(document):
    """What is wrong with a document, by the rules of SPDX 2.3 that concern us."""
    for key, value in (("spdxVersion", "SPDX-2.3"), ("dataLicense", "CC0-1.0"), ("SPDXID", "SPDXRef-DOCUMENT")):
        if document.get(key) != value:
            yield f"{key} is {document.get(key)!r}, not {value!r}"
    if not re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", document["creationInfo"]["created"]):
        yield "creationInfo.created is no time"
    if not re.fullmatch(r"https://\S+", document["documentNamespace"]) or "#" in document["documentNamespace"]:
        yield "documentNamespace is no URI"
    ids = [e["SPDXID"] for e in [document] + document["packages"] + document["files"]]
    yield from (f"{i} is no SPDXID" for i in ids if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i))
    yield from (f"{i} is there twice" for i in set(ids) if ids.count(i) > 1)
    for relationship in document["relationships"]:
        for end in (relationship["spdxElementId"], relationship["relatedSpdxElement"]):
            if end not in ids:
                yield f"a relationship names {end}, which is not there"
    if not any(r["relationshipType"] == "DESCRIBES" for r in document["relationships"]):
        yield "nothing is described"
    yield from wrong_of_packages(document)
    yield from wrong_of_files(document)


def wrong_of_archive(document, archive):
    """What a .deb file has and the document does not, or the other way round."""
    name = run("dpkg-deb", "--field", str(archive), "Package").strip()
    package = next((p for p in document["packages"] if p["SPDXID"] == spdx_id("Package", name)), None)
    if package is None:
        yield f"{archive.name} is not in the document"
        return
    for checksum in package.get("checksums", []):
        if digest(archive, "sha256") != checksum["checksumValue"]:
            yield f"{archive.name} has another checksum"
    excluded = package["packageVerificationCode"].get("packageVerificationCodeExcludedFiles", [None])[0]
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "--extract", str(archive), folder)
        there = {file["fileName"]: sha1_of(file) for file in own_files(Path(folder), excluded)}
    said = {file["fileName"]: sha1_of(file) for file in document["files"]
            if file["SPDXID"] in set(package["hasFiles"])}
    yield from (f"{archive.name}: {file} is in one of both, or another file"
                for file in sorted(set(there) | set(said)) if there.get(file) != said.get(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packages = commands.add_parser("packages")
    packages.add_argument("debian", type=Path)
    archives = commands.add_parser("archives")
    check = commands.add_parser("check")
    for command in (archives, check):
        command.add_argument("document", type=Path)
        command.add_argument("archives", type=Path, nargs="*")
    for command in (packages, archives):
        command.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "packages":
        document = describe_build(arguments.debian, arguments.out)
    else:
        document = json.loads(arguments.document.read_text())
    if arguments.command == "archives":
        document = with_archives(document, arguments.archives)
    wrong = list(wrong_of_document(document))
    if arguments.command != "packages":
        for archive in arguments.archives:
            wrong += wrong_of_archive(document, archive)
    if wrong:
        raise Refused("\n".join(wrong))
    if arguments.command != "check":
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except (Refused, OSError, ValueError, KeyError) as error:
        sys.exit(f"error: {error}")
