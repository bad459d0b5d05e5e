// SPDX-License-Identifier: Apache-2.0

/// An effect of a gate on calls.
///
/// A duration or a count of nil means that the gate sets no bound.
public enum GateEffect: Sendable, Hashable {
    // MARK: Sends

    /// Sends a failed request again, each time as a new attempt.
    ///
    /// `attempts` includes the first attempt. `waits` is the longest sum of the waits between the
    /// attempts. `repeatsUnsafe` states whether the gate repeats a request that is not idempotent
    /// and that the server may have processed.
    case retries(attempts: Int?, waits: Duration?, repeatsUnsafe: Bool)
    /// Sends further copies of a request before the first copy is answered, each as an attempt.
    ///
    /// The gate uses the first answer. `after` is the wait before each copy; nil if the gate
    /// derives the wait from earlier answers.
    case hedges(copies: Int, after: Duration?)
    /// Follows redirects; `hops` is the maximum number each time a call passes through the gate.
    case redirects(hops: Int)
    /// Sends again without a wait, for example with new credentials after a 401.
    case replays(times: Int)
    /// May answer without the inner gates.
    case answers(GateAnswer)

    // MARK: Time

    /// Ends the work of the inner gates after a time limit.
    case limitsTime(Duration, GateTimeExtent)
    /// May delay a request; `reason` completes the phrase "waits for", for example `a permit`.
    case waits(atMost: Duration?, reason: String)

    // MARK: Load

    /// Limits the number of simultaneous requests.
    case limitsConcurrency(Int?)
    /// Limits the number of requests in an interval.
    case limitsRate(Int, per: Duration)
    /// Refuses requests after failures of the inner gates.
    case breaksCircuit

    // MARK: Shared state

    /// Keeps state in a store that replicas share.
    ///
    /// If the store does not answer, the gate works without the store. `isHidden` is true if others
    /// cannot read the connection to the store, and nil if this is unknown. `atMost` is the longest
    /// sum of the waits for the store each time a call passes through the gate.
    case sharesState(GateSharedContent, isHidden: Bool?, atMost: Duration)

    // MARK: The connection

    /// Sends each request for a host, with or without a port, to one endpoint of the host.
    case choosesEndpoint(for: String)

    // MARK: The request

    /// Sets header fields.
    case setsFields([HTTPHeaders.Name], GateFieldContent)
    /// Puts a value with a limited validity into the request, such as a dated signature.
    case stampsTime(valid: Duration?)
    /// Adds a key by which a server recognizes a repetition of the request.
    case identifiesRepetition
    /// Sends and keeps cookies.
    case keepsCookies
    /// Changes `http` to `https` if the host has required `https`.
    case upgradesScheme
    /// Refuses requests to targets that are not allowed.
    case checksTarget
    /// Changes the content of the request, for example by compression.
    case changesContent

    // MARK: Groups

    /// Applies the gates of a group to some requests only; `byOrigin` is true for listed origins.
    case selects(byOrigin: Bool)

    // MARK: The response

    /// Reads content of a response into memory before returning the response; `upTo` is the maximum
    /// number of bytes.
    case readsContent(upTo: Int64?)
    /// Turns a response into an error.
    case rejectsResponses
    /// Limits the bytes of content that are collected in memory.
    case limitsContent(Int64?)
    /// Limits the ratio of the size of decoded content to the size of encoded content.
    case limitsDecoding(ratio: Int)
    /// Decides whether a stored response is fresh, and stores responses.
    case storesResponses

    // MARK: Observation

    /// Writes a log of calls; `content` is the number of content bytes in the log.
    case logs(content: Int)
    /// Counts and measures calls; `hasBoundedLabels` is false if a label may have any value.
    case measures(hasBoundedLabels: Bool)

    // MARK: Memory

    /// Holds bytes in memory for each call.
    case holdsMemory(atMost: Int64?)
    /// Holds bytes on disk for each call.
    case holdsDisk(atMost: Int64?)
}

/// The part of an exchange that a time limit covers.
public enum GateTimeExtent: Sendable, Hashable {
    /// The time until the last byte of the body, or until the head if the call streams.
    case body
    /// The time until the response head.
    case head
    /// Each wait between two portions of the body.
    case silence
}

/// The kind of value that a gate writes into header fields.
public enum GateFieldContent: Sendable, Hashable {
    /// A value that is not secret.
    case plain
    /// A secret.
    ///
    /// `isBound` is true if the gate sends the secret only to origins that the gate lists.
    /// `variesByCall` is true if the secret differs between the users of one client.
    case secret(isBound: Bool, variesByCall: Bool = false)
}

/// The kind of response or error that a gate returns without the inner gates.
public enum GateAnswer: Sendable, Hashable {
    /// A stored response.
    case stored
    /// The response of another running call.
    case shared
    /// An error.
    case refusal
    /// A response that the gate creates.
    case substitute
}

/// The kind of state that a gate keeps in a store that replicas share.
public enum GateSharedContent: Sendable, Hashable {
    /// Counts and times, such as the state of a quota.
    case counts
    /// Secrets, such as tokens.
    case secrets
    /// Responses, with their content.
    case responses
}
