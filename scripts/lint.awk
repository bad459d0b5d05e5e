# The rules of the house that a compiler does not know. Prints what breaks them.
#
# - Which module a file may import depends on its folder; `@_exported` is for the face alone.
# - A file has at most 300 lines.
# - `@unchecked Sendable` and `nonisolated(unsafe)` stand within three lines below a `// SAFETY:` comment.

function fault(text) {
    printf "%s:%d: error: %s\n", FILENAME, FNR, text > "/dev/stderr"
    found = 1
}

function isIn(list, name) { return index(" " list " ", " " name " ") > 0 }

# Whether a file of `place` (two folders deep, as in Sources/Core) may import a module.
function mayImport(place, module,    base, libraries) {
    base = "Foundation Dispatch Synchronization Glibc Musl Darwin"
    libraries = "TurnpikeCore TurnpikeMiddleware TurnpikeSerializers"
    if (place ~ /^Plugins\/CommandLine$/) return 1
    if (place ~ /^Plugins\//) {
        # Its own modules carry its folder's name; the others' and the face are out of bounds.
        return module !~ /Turnpike/ || isIn(libraries, module) || index(module, folder) > 0
    }
    if (isIn(base, module)) return 1
    if (place == "Sources/Core") {
        return module == "FoundationNetworking" && FILENAME ~ /^Sources\/Core\/Transport\/URLSession\//
    }
    if (place == "Sources/Turnpike") return isIn(libraries, module)
    return module == "TurnpikeCore"
}

FNR == 1 {
    split(FILENAME, part, "/")
    folder = part[2]
    safety = -9
    isApplication = FILENAME ~ /^Plugins\/[^\/]*\/(Tests|Examples)\//
}

FNR == 301 { fault("the file has more than 300 lines") }

/\/\/ SAFETY:/ { safety = FNR }
/^[ \t]*\/\// && safety == FNR - 1 { safety = FNR }  # the comment goes on

{
    code = $0
    sub(/\/\/.*/, "", code)
}

code ~ /@unchecked Sendable|nonisolated\(unsafe\)/ && FNR - safety > 3 {
    fault("`@unchecked Sendable` and `nonisolated(unsafe)` need a `// SAFETY:` comment above")
}

code ~ /@_exported/ && folder != "Turnpike" { fault("only the face re-exports modules") }

code ~ /^[ \t]*([@a-z][A-Za-z_()]*[ \t]+)*import[ \t]/ && !isApplication {
    module = code
    sub(/^.*import[ \t]+((struct|class|enum|protocol|typealias|func|let|var)[ \t]+)?/, "", module)
    sub(/[^A-Za-z0-9_].*$/, "", module)
    if (!mayImport(part[1] "/" folder, module)) fault("this folder does not import " module)
}

END { exit found }
