/// The version of this library, as a `User-Agent` tells it.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
