// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Whether the content of a request holds secrets for its origin alone.
///
/// A redirect of such a request is refused if it leads to another origin, or would drop the
/// content.
enum OriginBoundOption: RequestOptionKey {
    typealias Value = Bool
}
