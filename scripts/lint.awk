# Checks the rules of the project that the compiler does not check, and prints each violation.
#
# - The folder of a file decides which modules it may import; only the umbrella modules may use `@_exported`, and Support for what
#   is under all modules.
# - Only the modules of a list import Foundation (Sources/Support/Platform.swift).
# - A file has at most 400 lines; so has one of C, and a header.
# - No module has privilege: only Redaction declares `package` interface, and only Core imports Redaction.
# - `@unchecked Sendable` and `nonisolated(unsafe)` need a `// SAFETY:` comment at most three lines above.

function fault(text) {
    printf "%s:%d: error: %s\n", FILENAME, FNR, text > "/dev/stderr"
    found = 1
}

function isIn(list, name) { return index(" " list " ", " " name " ") > 0 }

# Whether a file of `place` (two folders deep, as in Sources/Core) may import a module.
function mayImport(place, module,    base, libraries) {
    base = "Foundation Dispatch Synchronization Glibc Musl Darwin"
    libraries = "TurnpikeCore TurnpikeInspection TurnpikeMiddleware TurnpikeSerializers TurnpikeSupport"
    # What a stack file says of a plugin is a module of its own, in the plugin's folder.
    if (module == "TurnpikeStackFiles") return FILENAME ~ /^Plugins\/([^\/]*\/StackFiles|CommandLine|Bridges)\//
    # An application, and packages of their own.
    if (place ~ /^Plugins\/(CommandLine|Bridges)$/) return 1
    if (place ~ /^Plugins\//) {
        # One exception: TurnpikeValkeyCache is a store of the cache plugin.
        if (FILENAME ~ /^Plugins\/Valkey\/(Cache|StackFiles)\// && module ~ /^TurnpikeCache/) return 1
        # Stores and the tools for tests stand on what replicas share.
        if (place ~ /^Plugins\/(Cache|Testing|Valkey)$/ && module ~ /^TurnpikeSharedState/) return 1
        # Replicas share tokens.
        if (place == "Plugins/SharedState" && module ~ /^TurnpikeAuthentication/) return 1
        # What a failure is, and what a quota is.
        if (place ~ /^Plugins\/(Endpoints|SharedState|Testing|Valkey)$/ && module ~ /^TurnpikeTraffic/) return 1
        # A plugin leaves the transport to its user; cassettes record over the default one.
        if (place == "Plugins/Testing" && module == "TurnpikeURLSession") return 1
        # The names of its own modules contain the name of the folder; it may not import other plugins or an umbrella module.
        return module !~ /Turnpike/ || isIn(libraries, module) || index(module, folder) > 0
    }
    if (isIn(base, module)) return 1
    if (place == "Sources/Support") return 0
    if (module == "TurnpikeSupport") return 1
    if (place == "Sources/Core") return module == "TurnpikeRedaction"
    if (place == "Sources/Redaction") return 0
    if (place == "Sources/URLSession") return isIn("FoundationNetworking TurnpikeCore", module)
    if (place == "Sources/Essentials") return isIn("TurnpikeCore TurnpikeMiddleware TurnpikeSerializers", module)
    if (place == "Sources/Turnpike") {
        return isIn("TurnpikeCore TurnpikeEssentials TurnpikeMiddleware TurnpikeSerializers TurnpikeURLSession", module)
    }
    if (place == "Sources/StackFiles") {
        return isIn("TurnpikeCore TurnpikeMiddleware TurnpikeSerializers TurnpikeURLSession", module)
    }
    if (place == "Sources/Inspection") return isIn("TurnpikeCore TurnpikeMiddleware", module)
    return module == "TurnpikeCore"
}

# Whether the file's module may import Foundation, which then each program with the module links. The reasons are in the article
# SmallPrograms; all other modules import the essentials of Foundation with TurnpikeSupport.
function mayImportFoundation() {
    if (FILENAME ~ /^Plugins\/[^\/]*\/StackFiles\//) return 1
    return isIn("Sources/StackFiles Sources/URLSession Plugins/Bridges Plugins/CommandLine Plugins/Testing Plugins/Valkey", room())
}

function room() { return part[1] "/" folder }

FNR == 1 {
    split(FILENAME, part, "/")
    folder = part[2]
    safety = -9
    isPlatform = FILENAME == "Sources/Support/Platform.swift"
    isApplication = FILENAME ~ /^Plugins\/([^\/]*|Bridges\/[^\/]*)\/(Tests|Examples)\//
}

FNR == 401 { fault("the file has more than 400 lines") }

# The rest is about Swift.
FILENAME ~ /\.[ch]$/ { next }

/\/\/ SAFETY:/ { safety = FNR }
/^[ \t]*\/\// && safety == FNR - 1 { safety = FNR }  # the comment continues

{
    code = $0
    sub(/\/\/.*/, "", code)
}

code ~ /@unchecked Sendable|nonisolated\(unsafe\)/ && FNR - safety > 3 {
    fault("`@unchecked Sendable` and `nonisolated(unsafe)` need a `// SAFETY:` comment above")
}

room() ~ /^(Plugins|Sources)\// && room() != "Sources/Redaction" && code ~ /(^|[ \t])package[ \t]+[a-z]/ {
    fault("no module has privilege: declare and import nothing `package`")
}

code ~ /@_exported/ && !isIn("Essentials Turnpike", folder) && !isPlatform {
    fault("only the face re-exports modules") }

code ~ /^[ \t]*([@a-z][A-Za-z_()]*[ \t]+)*import[ \t]/ && !isApplication {
    module = code
    sub(/^.*import[ \t]+((struct|class|enum|protocol|typealias|func|let|var)[ \t]+)?/, "", module)
    sub(/[^A-Za-z0-9_].*$/, "", module)
    if (isPlatform) next
    if (module ~ /^Foundation/ && !mayImportFoundation()) {
        fault("a small program would link Foundation; import TurnpikeSupport, which has its essentials")
    } else if (!mayImport(room(), module)) fault("this folder does not import " module)
}

END { exit found }
