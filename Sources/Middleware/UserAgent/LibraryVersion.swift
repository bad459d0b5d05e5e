/// The version of this library, as a `User-Agent` tells it.
enum LibraryVersion {
    static let current = "0.1.0"
}
