// SPDX-License-Identifier: Apache-2.0

// The modules under all others, for each file of this module and for who imports it: the C library,
// and of Foundation the essentials. Foundation itself would bring ICU, 40 MB, into every program.
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
