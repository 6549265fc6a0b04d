// The dependencies of activities: those of commands, those of a delivery lane, and the settings of DNS look-ups.
import type { CommandDeps } from '../commands/deps.ts'
import type { DeliveryDeps } from '../delivery/deps.ts'
import type { LaneOwners } from '../delivery/lane/owners.ts'
import type { SuspectKind } from '../rules/wire.ts'

/** Knows what the main thread works on, so that what ends the process can be told. */
export interface Blame {
  /**
   * Runs synchronous work under a mark.
   * @param mark `alone`: it is a suspect, and nothing else of its kind runs in this process
   * @param work gets a function that names the step it is at
   */
  during<T>(
    mark: { kind: SuspectKind; id: string; step: string; alone: boolean },
    work: (entering: (step: string) => void) => T,
  ): T
  /** Says that a suspect was given up. */
  gaveUp(kind: SuspectKind, id: string): void
}

export type ActivityDeps = Omit<CommandDeps, 'config'> &
  Omit<DeliveryDeps, 'config'> & {
    blame: Blame
    /** The delivery lanes of this process. */
    lanes: LaneOwners
    config: CommandDeps['config'] &
      DeliveryDeps['config'] & {
        /** The host that a domain's records must name; null: derived from `publicUrl`. */
        mailHost: string | null
        spfMechanism: string | null
        /** Name servers to ask instead of the system's; empty: the system's. */
        dnsServers: readonly string[]
      }
  }
