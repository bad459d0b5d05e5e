// SPDX-License-Identifier: Apache-2.0

// All files of this module and all importers need the C library and the essentials of Foundation.
// Foundation itself would add ICU, 40 MB, to every program.
#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#else
@_exported public import Foundation
#endif

#if canImport(Glibc)
@_exported public import Glibc
#elseif canImport(Musl)
@_exported public import Musl
#elseif canImport(Darwin)
@_exported public import Darwin
#endif
