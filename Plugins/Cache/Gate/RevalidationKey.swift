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

/// What a validation gives to all who wait for it.
enum Revalidated: Sendable {
    case confirmed(Validation)
    /// A new response, for those whom its variant fits.
    case changed(ResponseHead, Data, Variant, isStored: Bool)
}

/// The validations under way.
typealias Revalidations = Flights<RevalidationKey, Revalidated>
