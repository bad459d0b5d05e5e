/// How a download deals with a transfer that breaks.
///
/// A transfer is taken up again by a range, if the server gave a strong validator: a strong entity
/// tag, or a date of modification well before that of the response (RFC 9110 §8.8). If it did not, if
/// the resource has changed since, or if the part that comes does not name the same validator, the
/// download starts over; a file is never made of two versions. An answer to the range that is neither
/// a part nor the whole (204, say) fails the download and leaves what has come as it is.
public struct DownloadOptions: Sendable {
    /// How often in all a transfer that broke is taken up again within the call.
    ///
    /// The wait before it grows from half a second to 30 s while no byte comes.
    public var resumes = 3

    /// Whether what has come stays when the call fails, for a later one, of this process or
    /// another.
    ///
    /// A call with this option to the same URL and destination finds it there: two files in the
    /// destination's directory, `.turnpike-….part` and `.turnpike-….resume`, the second beside
    /// destinations that are known before the response is. The error has the same as
    /// ``TurnpikeCore/ClientError/resumeData``.
    public var keepsPartialFile = false

    /// What an earlier call left, to go on from there, whatever the URL.
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
