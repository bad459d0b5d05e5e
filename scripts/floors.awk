# Checks that each folder of Sources/Core names types of lower floors alone, by the names. Pass the files twice.

BEGIN {
    # From the ground up. Folders of one floor do not name each other, but those of the second do
    # (Documentation/Decisions/Project.md).
    count = split("Cancellation Concurrency Time,Message Errors Serialization,Facts Files Metrics Redaction,Chain,Transport,Client", floors, ",")
    for (number = 1; number <= count; number++) {
        split(floors[number], folders, " ")
        for (each in folders) floor[folders[each]] = number
    }
}

FNR == 1 {
    if (FILENAME in isRead) isSecond = 1
    isRead[FILENAME]
    split(FILENAME, part, "/")
    room = part[3]
}

{
    line = $0
    gsub(/"([^"\\]|\\.)*"|\/\/.*|^([@a-z]+ )*import .*/, "\"\"", line)
}

!isSecond && line !~ /private / && sub(/^([@a-z][^ ]* )*(struct|class|enum|protocol|actor|typealias) /, "", line) {
    sub(/[^A-Za-z0-9_].*/, "", line)
    home[line] = room
}

# What follows a point is a member.
isSecond {
    for (; match(line, /[A-Za-z0-9_.]+/); line = substr(line, RSTART + RLENGTH)) {
        name = substr(line, RSTART, RLENGTH)
        sub(/\..*/, "", name)
        if (!(name in home) || home[name] == room || floor[home[name]] < floor[room] || floor[home[name]] floor[room] == "22") continue
        printf "%s:%d: error: %s is no floor above %s, whose %s it names\n", FILENAME, FNR, room, home[name], name > "/dev/stderr"
        found = 1
    }
}

END { exit found }
