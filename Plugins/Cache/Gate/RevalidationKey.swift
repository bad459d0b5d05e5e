import Foundation
import TurnpikeCore
import TurnpikeMiddleware

/// What callers must have in common to wait for one validation.
struct RevalidationKey: Hashable {
    let key: CacheKey
    let variant: Variant
    // Calls with gates of their own are like no others.
    let plan: ObjectIdentifier
    // A refresh with options of its own is for no call that waits.
    let allowsSharing: Bool

    init(_ response: StoredResponse, _ request: Request, _ next: Next) {
        key = response.key
        variant = response.variant
        plan = next.planIdentity
        allowsSharing = request.options.allowSharing
    }
}

/// What a validation gives to all who wait for it; each of them takes what it could have found
/// stored, and asks for itself where that is another's.
enum Revalidated: Sendable {
    case confirmed(Validation)
    case answered(Answer)

    /// A new response, or what a validator inside made of one.
    struct Answer: Sendable {
        let head: ResponseHead
        var content: Result<Data, any Error>
        let variant: Variant
        /// Where it stands if it is stored, and whom it is for.
        let key: CacheKey
        let isPersonal: Bool
        let isStored: Bool
    }
}

/// The validations under way.
typealias Revalidations = Flights<RevalidationKey, Revalidated>
