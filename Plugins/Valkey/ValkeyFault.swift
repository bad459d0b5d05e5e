// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// The errors of a server, as `ClientError`.
///
/// The text of each error is one sentence with a remedy.
enum ValkeyFault {
    /// Returns text of a server or user, escaped for a message.
    static func shown(_ text: String) -> String { Grammar.escaped(text, upTo: 300) }

    /// The error of a refused command, whose kind is the first word of the server's text.
    static func refused(
        _ text: String, name: String, keys: [String] = [], at server: NodeAddress?
    ) -> ClientError {
        let word = text.prefix { $0 != " " }
        let (code, advice) = advice(of: String(word), text, name: name)
        return ClientError(
            code,
            "\(told(text, keys: keys)) (\(shown(name)) at \(server?.description ?? "?"))\(advice)")
    }

    /// The error of a connection's first command, after which the connection cannot be used.
    static func greeting(_ text: String, step: GreetingStep, at server: String) -> ClientError? {
        func fault(_ code: ClientError.Code, _ advice: String) -> ClientError {
            ClientError(code, "\(server) refuses the connection: \(told(text)); \(advice)")
        }
        let word = text.prefix { $0 != " " }
        switch (word, step) {
        case ("DENIED", _):
            return fault(
                .auth,
                "the server's protected mode is on: set a password (requirepass), or bind the"
                    + " server to the loopback interface")
        case ("NOAUTH", _):
            return fault(.auth, "put the password into the URL: redis://user:password@host")
        case ("LOADING", _): return fault(.connection, "data is loading; the client tries again")
        case ("MASTERDOWN", _):
            return fault(
                .connection,
                "the server is a replica without its primary; give the address of the primary, or"
                    + " all addresses with commas between them")
        // This reply answers no step. The server sends the reply and ends the connection.
        case _ where text.contains("max number of clients"):
            return fault(.connection, "raise the server's setting maxclients")
        case (_, .auth) where text.contains("without any password configured"):
            return fault(.auth, "the server has no password: remove the password from the URL")
        case (_, .auth) where text.contains("wrong number of arguments"):
            return fault(.auth, "the server has no users: remove the user from the URL")
        case (_, .auth): return fault(.auth, "check the user and the password in the URL")
        case (_, .select) where text.contains("cluster"):
            return fault(.configuration, "a cluster has only database 0: end the URL with /0")
        case ("NOPERM", .select):
            return fault(.auth, "let the user select a database: ACL SETUSER … +select")
        case (_, .select):
            return fault(
                .configuration,
                "no such database: end the URL with /0, or raise the setting \"databases\"")
        default: return nil
        }
    }

    static func notRedis(_ bytes: [UInt8], at server: String) -> ClientError? {
        if bytes.count >= 2, bytes[0] == 0x15, bytes[1] == 3 {
            return ClientError(
                .tls, "\(server) expects TLS: write rediss:// instead of redis:// in the URL")
        }
        if bytes.starts(with: "HTTP/".utf8) {
            return ClientError(
                .protocol,
                "\(server) is a web server, not a Valkey or Redis server; check host and port")
        }
        if let first = bytes.first, !"+-:$*".utf8.contains(first) {
            return ClientError(
                .protocol,
                "\(server) does not speak the protocol of Valkey and Redis; check host and port")
        }
        return nil
    }

    // The first text is from Redis up to 7.0, and the second is from Redis 7.2 and Valkey.
    private static let inScript = ["The user executing the script can't", "ACL failure in script"]

    private static func advice(
        of word: String, _ text: String, name: String
    ) -> (ClientError.Code, String) {
        let isScript = ["EVAL", "EVALSHA", "SCRIPT"].contains(name)
        if isScript, inScript.contains(where: text.contains) {
            return (
                .auth,
                "; let the user do what the script does: extend its commands (+…) and keys (~…)"
                    + " with ACL SETUSER"
            )
        }
        switch word {
        case "NOPERM":
            if isScript, text.contains("command") {
                return (.auth, "; let the user run scripts: ACL SETUSER … +eval +evalsha")
            }
            return (.auth, "; extend the rules of the user with ACL SETUSER")
        case "NOAUTH", "WRONGPASS":
            return (.auth, "; check the user and the password in the URL")
        case "READONLY": return (.connection, "; this is a replica; the client seeks the primary")
        case "OOM":
            return (.overloaded, "; memory is full: raise maxmemory, or set a maxmemory-policy")
        case "WRONGTYPE":
            return (
                .validation, "; another program uses the key: delete it, or use another database"
            )
        case "LOADING": return (.connection, "; try again when the server has loaded its data")
        case "MASTERDOWN":
            return (
                .connection, "; this replica has lost its primary; the client looks for the primary"
            )
        case "CLUSTERDOWN":
            return (
                .connection, "; nodes of the cluster are missing; see CLUSTER INFO on a node"
            )
        case "TRYAGAIN":
            return (.connection, "; the slot is being moved: give the command more time")
        case "BUSY":
            return (.connection, "; a script takes too long: SCRIPT KILL on the server ends it")
        case "MOVED", "ASK": return (.connection, "")
        default: return (.validation, "")
        }
    }
}

extension ValkeyFault {
    /// Returns the kind, known phrases and the kind of a shared key from a server's text.
    ///
    /// No other text of the server is printed. A server or a proxy may repeat passwords, tokens or
    /// contents that any caller has sent on the same connection.
    static func told(_ text: String, keys: [String] = []) -> String {
        let text = Grammar.beginning(of: text, upTo: 2048)
        let word = String(text.prefix { $0 != " " })
        let kind = kinds.contains(word) ? word : "an error of another kind"
        let known = phrases.filter { text.contains($0) }
        let named = keys.filter { $0.hasPrefix("turnpike:") && text.contains($0) }
        let parts = [kind] + known + (named.isEmpty ? [] : ["key " + shown(named[0])])
        return parts.count > 1
            ? parts.joined(separator: " ")
            : "\(kind) (its text is not shown, because it may repeat secrets)"
    }

    private static let kinds: Set<String> = [
        "ASK", "BUSY", "BUSYGROUP", "BUSYKEY", "CLUSTERDOWN", "CROSSSLOT", "DENIED", "ERR",
        "EXECABORT", "INPROG", "INVALIDOBJ", "IOERR", "LOADING", "MASTERDOWN", "MISCONF", "MOVED",
        "NOAUTH", "NOGOODSLAVE", "NOGROUP", "NOMASTERLINK", "NOPERM", "NOPROTO", "NOREPLICAS",
        "NOSCRIPT", "NOTBUSY", "NOTREADY", "OOM", "READONLY", "REDIRECT", "TRYAGAIN", "UNBLOCKED",
        "UNKILLABLE", "WRONGPASS", "WRONGTYPE",
    ]

    // Phrases of Redis and Valkey. None of these phrases can contain other data.
    private static let phrases = [
        "ACL failure in script", "Authentication required.", "DB index is out of range",
        "Error compiling script", "Error running script", "Hash slot not served",
        "Keys in request don't hash to the same slot", "Link with MASTER is down",
        "Multiple keys request during rehashing of slot", "No matching script.",
        "Operation against a key holding the wrong kind of value",
        "SELECT is not allowed in cluster mode", "The cluster is down",
        "This instance has cluster support disabled",
        "The user executing the script can't run this command or subcommand",
        "You can't write against a read only replica", "called without any password configured",
        "command not allowed when used memory > 'maxmemory'", "has no permissions to run",
        "has no permissions to access", "invalid DB index", "invalid password",
        "invalid username-password pair", "is busy running a script",
        "is loading the dataset in memory", "is no list of replicas", "is no number of a lock",
        "is no quota", "is no token",
        "max number of clients", "no password is set", "syntax error", "unknown command",
        "value is not an integer or out of range", "wrong number of arguments",
    ]
}
