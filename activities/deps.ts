// The dependencies of activities: those of commands, those of a delivery lane, and the settings of DNS look-ups.
import type { CommandDeps } from '../commands/deps.ts'
import type { DeliveryDeps } from '../delivery/deps.ts'
import type { LaneOwners } from '../delivery/lane/owners.ts'
import type { Outbound } from '../runtime/outbound.ts'

export type ActivityDeps = Omit<CommandDeps, 'config'> &
  Omit<DeliveryDeps, 'config'> & {
    /** The delivery lanes of this process. */
    lanes: LaneOwners
    /** The client for addresses that customers choose. */
    outbound: Outbound
    /** The pauses between tries of a call, as a multiple of those of the rules; below 1 in tests. */
    callPace: number
    config: CommandDeps['config'] &
      DeliveryDeps['config'] & {
        /** Connections of `db`, which segments of all workspaces share. */
        databasePoolSize: number
        /** The host that a domain's records must name; null: derived from `publicUrl`. */
        mailHost: string | null
        spfMechanism: string | null
        /** Name servers to ask instead of the system's; empty: the system's. */
        dnsServers: readonly string[]
      }
  }
