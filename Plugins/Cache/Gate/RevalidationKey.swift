// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeMiddleware

/// What callers must have in common to wait for one validation.
struct RevalidationKey: Hashable {
    let key: CacheKey
    let variant: Variant
    // Calls with gates of their own share with no others.
    let plan: ObjectIdentifier
    // A refresh that does not share is for no call that waits.
    let allowsSharing: Bool
    // Calls that may go to public addresses alone wait for no others.
    let isGuarded: Bool

    init(_ response: StoredResponse, _ request: Request, _ next: Next) {
        key = response.key
        variant = response.variant
        plan = next.planIdentity
        allowsSharing = request.options.allowSharing
        isGuarded = request.options.addressRule != nil
    }
}

/// The result of a validation for all who wait for it.
///
/// Each takes it if the call could have found it in the store, and asks for itself otherwise.
enum Revalidated: Sendable {
    case confirmed(Validation)
    case answered(Answer)

    /// A new response, or the error that a validator inside made of one.
    struct Answer: Sendable {
        let head: ResponseHead
        var content: Result<Data, any Error>
        /// As it would be stored, which tells whom it is for.
        let stored: StoredResponse
        let isStored: Bool
    }
}

/// The validations under way.
typealias Revalidations = Flights<RevalidationKey, Revalidated>
