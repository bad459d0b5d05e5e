public import Foundation
public import TurnpikeCore

/// What a download made.
public struct DownloadedFile: Sendable {
    /// The file.
    public let url: URL
    /// The name that the response suggested, made safe, whether it was used or not.
    public let suggestedName: String
    /// The size of the file.
    public let bytes: Int64
    /// How many of its bytes an earlier call had left.
    public let resumedFrom: Int64
    /// The head of the last response.
    public let head: ResponseHead
}
