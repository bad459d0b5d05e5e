// SPDX-License-Identifier: Apache-2.0

/// How a download handles an interrupted transfer.
///
/// A transfer resumes with a range request if the server sent a strong validator: a strong entity
/// tag, or a modification date well before the date of the response (RFC 9110 §8.8). The download
/// starts over if there was no strong validator, if the resource has changed, or if the partial
/// response does not name the same validator. A file is therefore never assembled from two
/// versions. A response to the range request that is neither a part nor the whole, such as 204,
/// fails the download and keeps the bytes received so far.
public struct DownloadOptions: Sendable {
    /// How many times in total an interrupted transfer is resumed within the call.
    ///
    /// The wait before a resume starts at half a second and doubles up to 30 s as long as no byte
    /// arrives.
    public var resumes = 3

    /// Whether the received bytes are kept when the call fails, so that a later call, of this
    /// process or another, can continue.
    ///
    /// A later call with this option, the same URL and the same destination finds them in the
    /// destination's directory, in a file named `.turnpike-….part`. A second file,
    /// `.turnpike-….resume`, is written only if the directory is known before the response. The
    /// error has the same data as ``TurnpikeCore/ClientError/resumeData``.
    public var keepsPartialFile = false

    /// The data that an earlier call left, from which to continue, whatever the URL.
    public var resumeData: ResumeData?

    /// Creates options.
    public init(
        resumes: Int = 3, keepsPartialFile: Bool = false, resumeData: ResumeData? = nil
    ) {
        self.resumes = resumes
        self.keepsPartialFile = keepsPartialFile
        self.resumeData = resumeData
    }
}
