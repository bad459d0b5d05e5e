// SPDX-License-Identifier: Apache-2.0

@_exported public import TurnpikeEssentials
@_exported public import TurnpikeURLSession
