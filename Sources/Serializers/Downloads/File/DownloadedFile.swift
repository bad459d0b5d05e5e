// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

/// The result of a download.
public struct DownloadedFile: Sendable {
    /// The file.
    public let url: URL
    /// The name that the response suggested, made safe.
    ///
    /// It is set even if another name was used.
    public let suggestedName: String
    /// The size of the file.
    public let bytes: Int64
    /// How many of these bytes came from an earlier call.
    public let resumedFrom: Int64
    /// The head of the last response.
    public let head: ResponseHead
}
