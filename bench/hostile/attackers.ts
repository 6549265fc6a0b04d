// A process that runs all attacks at once, with the lowest priority, so that it takes no CPU from who is attacked.
import { setPriority } from 'node:os'
import { serve } from '../remote.ts'
import type { Attack, Target } from './attack.ts'
import { emptyShapes, largeMails, slowSockets } from './bodyAttacks.ts'
import { wrongKeys } from './keyAttacks.ts'
import { heldContact } from './lockAttacks.ts'
import { runHostile, sendHostile } from './templateAttacks.ts'

const LOWEST_PRIORITY = 19

const attacks: Record<string, Attack> = {
  sendHostile,
  runHostile,
  emptyShapes,
  largeMails,
  slowSockets,
  wrongKeys,
  heldContact,
}

/** Counts of outcomes, by attack. */
export type Outcomes = Record<string, Record<string, number>>

let running: { stop: AbortController; ended: Promise<unknown>; outcomes: Outcomes } | undefined

const handlers = {
  /** Begins the attacks; all of them unless some are named. */
  async start({ target, only }: { target: Target; only?: readonly string[] }): Promise<void> {
    setPriority(LOWEST_PRIORITY)
    const stop = new AbortController()
    const outcomes: Outcomes = {}
    const chosen = Object.entries(attacks).filter(([name]) => !only || only.includes(name))
    const ended = Promise.all(
      chosen.map(async ([name, attack]) => {
        const counts: Record<string, number> = {}
        outcomes[name] = counts
        const count = (outcome: string | number) => {
          counts[outcome] = (counts[outcome] ?? 0) + 1
        }
        await attack(target, count, stop.signal)
      }),
    )
    running = { stop, ended, outcomes }
  },
  /** Ends them. @returns what came of each, and the CPU that this process took, in seconds */
  async stop(_input: object): Promise<{ outcomes: Outcomes; cpu_s: number }> {
    if (!running) return { outcomes: {}, cpu_s: 0 }
    running.stop.abort()
    await running.ended
    const { user, system } = process.cpuUsage()
    return { outcomes: running.outcomes, cpu_s: (user + system) / 1_000_000 }
  },
}

export type Attackers = typeof handlers

serve(handlers)
