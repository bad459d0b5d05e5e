// SPDX-License-Identifier: Apache-2.0

public import TurnpikeMiddleware

/// Keeps the state that the replicas of a service share, by the server's clock.
///
/// Each operation is one script or command. The state of one key is under names that begin with
/// `turnpike:{<key>}:`, so it is on one node of a cluster. A value that cannot be read counts as none,
/// and is replaced; a key of another type is an error that names it. All keys end by
/// themselves, apart from tokens without a lifetime. The user of the URL needs the keys `turnpike:*`
/// and the commands `EVAL`, `EVALSHA`, `GET`, `GETRANGE`, `SET`, `DEL`, `PTTL`, `PEXPIRE`, `TIME`,
/// `ZADD`, `ZCARD` and `ZREMRANGEBYSCORE`.
extension ValkeyServer: SharedStore {}
