// SPDX-License-Identifier: Apache-2.0

@_exported public import TurnpikeCore
@_exported public import TurnpikeMiddleware
@_exported public import TurnpikeSerializers
