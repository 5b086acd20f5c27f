"""Lets PyPI's torch be imported without NVIDIA's packages: ``python torch_stubs.py ENVIRONMENT``.

The wheel links libraries of CUDA that weigh gigabytes and are of no use without a GPU. For each that is
missing, a shared object of a few kilobytes is put into torch/lib: it defines the symbols that torch wants from
it, under the versions that it wants, and each function answers 100 (cudaErrorNoDevice), or a word for it where
a string is due. Needs gcc and readelf.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

NO_DEVICE = 100
# Functions that answer with a string by their names, which torch reads.
STRINGS = ("ErrorString", "ErrorName", "StatusString", "StatusName")
# In every C++ program; their symbols are not looked for in stubs.
SYSTEM = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(file):
    return re.findall(r"NEEDED.*\[([^\]]+)\]", output("readelf", "-d", "-W", file))


def symbols(file):
    """(name, version, type, size, binding, undefined) of the dynamic symbols."""
    for line in output("readelf", "--dyn-syms", "-W", file).splitlines():
        parts = line.split()
        if len(parts) < 8 or not parts[0].endswith(":") or parts[4] not in ("GLOBAL", "WEAK", "UNIQUE"):
            continue
        name, version = (re.split("@+", parts[7], maxsplit=1) + [""])[:2]
        yield name, version, parts[3], int(parts[2], 0), parts[4], parts[6] == "UND"


def version_owners(file):
    """(version, library) of the versions that a file needs."""
    library = None
    for line in output("readelf", "-V", "-W", file).splitlines():
        if found := re.search(r"Version: \d+\s+File: (\S+)", line):
            library = found[1]
        if found := re.search(r"Name: (\S+)\s+Flags", line):
            yield found[1], library


def is_installed(library, known=output("ldconfig", "-p")):
    return f"{library} (" in known or library == "libz.so.1"


def main(environment):
    [torch] = glob.glob(f"{environment}/lib/python3*/site-packages/torch")
    own = {os.path.basename(file): file for file in glob.glob(f"{torch}/lib/*.so*")}
    files = [*own.values(), *glob.glob(f"{torch}/_C*.so")]
    missing = sorted({name for file in files for name in needed(file) if name not in own and not is_installed(name)})
    if not missing:
        print("torch_stubs: nothing is missing")
        return

    defined, wanted, owner = set(), {}, {}
    for file in files:
        for name, version, kind, size, binding, undefined in symbols(file):
            if not undefined:
                defined.add(name)
            elif binding != "WEAK" or name not in wanted:
                wanted[name] = (version, kind, size, binding)
        owner.update((version, library) for version, library in version_owners(file) if library in missing)
    for library in SYSTEM:
        path = output("gcc", f"-print-file-name={library}").strip()
        if os.path.exists(path):
            defined.update(symbol[0] for symbol in symbols(path) if not symbol[5])
    wanted = {name: what for name, what in wanted.items() if name not in defined}

    stubs = {library: {} for library in missing}
    for name, what in wanted.items():
        if what[0] in owner:
            stubs[owner[what[0]]][name] = what
    # A symbol without a version goes to a library that its user links, best one that has no versions at all.
    for file in files:
        linked = [library for library in needed(file) if library in stubs] or missing
        linked = sorted(linked, key=lambda library: library in owner.values())
        for name, version, _, _, binding, undefined in symbols(file):
            what = wanted.get(name)
            if undefined and what and not version and what[0] not in owner and binding != "WEAK":
                if not any(name in stubs[library] for library in linked):
                    stubs[linked[0]][name] = what
    for library, content in stubs.items():
        build(os.path.join(torch, "lib", library), content)
    print(f"torch_stubs: {len(stubs)} libraries in {torch}/lib")


def build(path, content):
    lines = [".text"]
    for name, (_, kind, size, _) in sorted(content.items()):
        if kind in ("OBJECT", "TLS"):
            lines += [f".globl {name}", f".type {name},@object", f".size {name},{max(size, 8)}", ".bss", ".balign 64"]
            lines += [f"{name}: .zero {max(size, 64)}"]
        else:
            answer = "leaq .Lno_device(%rip),%rax" if name.endswith(STRINGS) else f"movl ${NO_DEVICE},%eax"
            lines += [f".globl {name}", f".type {name},@function", ".text", f"{name}: {answer}", "ret"]
    lines += [".section .rodata", '.Lno_device: .string "no device (a stub)"']
    lines.append('.section .note.GNU-stack,"",@progbits')
    with tempfile.TemporaryDirectory() as folder:
        source, script = f"{folder}/stub.s", f"{folder}/versions"
        with open(source, "w") as file:
            file.write("\n".join(lines) + "\n")
        options = []
        versions = sorted({what[0] for what in content.values() if what[0]})
        if versions:
            with open(script, "w") as file:
                for version in versions:
                    names = [name for name, what in content.items() if what[0] == version]
                    file.write(f"{version} {{ global: {' '.join(name + ';' for name in names)} }};\n")
            options = [f"-Wl,--version-script={script}"]
        soname = f"-Wl,-soname,{os.path.basename(path)}"
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", path, source, soname, *options], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
