// What activities are given: what commands are, what the engine of a lane is, and how DNS is asked.
import type { CommandDeps } from '../commands/deps.ts'
import type { DeliveryDeps } from '../delivery/deps.ts'

export type ActivityDeps = Omit<CommandDeps, 'config'> &
  Omit<DeliveryDeps, 'config'> & {
    config: CommandDeps['config'] &
      DeliveryDeps['config'] & {
        /** What a domain's records must name; null: derived from `publicUrl`. */
        mailHost: string | null
        spfMechanism: string | null
        /** Asked instead of the system's resolvers when there are any. */
        dnsServers: readonly string[]
      }
  }
