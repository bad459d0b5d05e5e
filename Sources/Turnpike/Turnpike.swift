@_exported public import TurnpikeCore
@_exported public import TurnpikeMiddleware
@_exported public import TurnpikeSerializers
