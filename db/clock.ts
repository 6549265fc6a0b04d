// The time of Postgres, counted on by a process: the clock of its own machine may be off, or jump.
import type { Spare } from './spare.ts'

const ASK_EVERY_MS = 10_000
/** An answer that took longer says too little of the moment. */
const ANSWER_MS_MAX = 1_000
/** A machine's clock is off that differs by more than this; else it counts, since an answer takes some time too. */
const OFF_MS = 5_000
/** It is right again below this, so that one at the limit does not count now and then. */
const RIGHT_MS = OFF_MS / 2

export interface DatabaseClock {
  /** The time of the machine where that is right, else that of Postgres. Until Postgres has answered that of the machine. */
  now(): Date
  /** Asks Postgres for the time, and again every ten seconds. Resolves when it has answered, or could not. */
  follow(spare: Pick<Spare, 'query'>): Promise<void>
  stop(): void
}

/**
 * Between two answers it counts on by what no change of the machine's clock moves. A Postgres that does not answer changes nothing.
 * @param onOff hears by how many ms the clock of the machine is ahead, when it is found to be off and when it is right again (0)
 */
export function createDatabaseClock(onOff: (ahead_ms: number) => void): DatabaseClock {
  /** What the milliseconds of this process began at; null: not known yet. */
  let origin: number | null = null
  let isOff = false
  let timer: NodeJS.Timeout | undefined

  const now = () => new Date(origin === null ? Date.now() : Math.round(origin + performance.now()))

  async function ask(spare: Pick<Spare, 'query'>): Promise<void> {
    const asked = performance.now()
    const answer = (await spare.query('select clock_timestamp() as now')) as {
      rows: { now: Date }[]
    }
    const answered = performance.now()
    const machine = Date.now()
    const [row] = answer.rows
    if (!row || (origin !== null && answered - asked > ANSWER_MS_MAX)) return
    const postgres = row.now.getTime() + (answered - asked) / 2
    const ahead_ms = Math.round(machine - postgres)
    const wasOff = isOff
    isOff = Math.abs(ahead_ms) > (wasOff ? RIGHT_MS : OFF_MS)
    origin = (isOff ? postgres : machine) - answered
    if (isOff !== wasOff) onOff(isOff ? ahead_ms : 0)
  }

  return {
    now,
    async follow(spare) {
      const again = () => ask(spare).catch(() => undefined)
      timer = setInterval(again, ASK_EVERY_MS)
      await again()
    },
    stop: () => clearInterval(timer),
  }
}

/** Makes what tells a log that the clock of the machine is off, or right again. */
export const clockTeller =
  (log: { info(text: string): void; warn(about: { ahead_ms: number }, text: string): void }) =>
  (ahead_ms: number): void => {
    if (ahead_ms === 0) log.info('the clock of this machine is right again')
    else log.warn({ ahead_ms }, 'the clock of this machine is off; that of Postgres counts')
  }
