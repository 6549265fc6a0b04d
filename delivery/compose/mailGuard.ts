// Watches what the main thread does for a mail. A mail that is suspected of ending workers has its turn alone, and is given
// up when it did so again and again.
import { forgetSuspect } from '../../commands/suspects/note.ts'
import { limits } from '../../rules/limits.ts'
import { isGivenUp } from '../../rules/suspects.ts'
import type { Watched } from '../../rules/watched.ts'
import type { SuspectKind } from '../../rules/wire.ts'
import { createGate, NotAlone } from '../../runtime/gate.ts'
import type { DeliveryDeps } from '../deps.ts'

type MailKind = Exclude<SuspectKind, 'segment'>

/** What is done for a mail, in the log. */
const steps: Record<MailKind, string> = { email: 'compose', delivery: 'reply' }
/** The same in the response of a mail that was given up. */
const doing: Record<MailKind, string> = {
  email: 'composed this mail',
  delivery: 'read the reply to this mail',
}

/** A part of the work for a mail, as a suspect. */
export interface MailWork {
  kind: MailKind
  id: string
  /** How often it has ended a worker alone; null: it is no suspect. */
  deaths: number | null
}

/** The mail must not be tried any more. */
export class GivenUp extends Error {
  readonly kind: MailKind
  readonly id: string

  constructor({ kind, id }: MailWork) {
    super(
      `given up: the worker ended ${limits.suspectDeathsMax} times while it ${doing[kind]} alone`,
    )
    this.kind = kind
    this.id = id
  }
}

/** Makes the guard of one process: mail that is no suspect is worked on side by side. */
export function createMailGuard(deps: Pick<DeliveryDeps, 'db' | 'now' | 'wake' | 'blame'>) {
  const gate = createGate()

  /**
   * Runs work that waits for nobody but the database and the thread pool. What ends well alone is a suspect no more.
   * @param work must do what is synchronous in it by `watched`
   * @throws GivenUp; NotAlone if it is to be tried again later; errors of the database
   */
  return async <T>(about: MailWork, work: (watched: Watched) => Promise<T>): Promise<T> => {
    const { kind, id, deaths } = about
    if (isGivenUp(deaths)) throw new GivenUp(about)
    const isSuspect = deaths !== null
    const made = await gate.run(isSuspect, ({ isAlone }) => {
      let isInside = false
      return work((inner) => {
        if (isInside) return inner()
        const alone = isAlone()
        if (isSuspect && !alone) throw new NotAlone('the time of a suspect mail alone was over')
        isInside = true
        try {
          return deps.blame.during({ kind, id, step: steps[kind], alone }, inner)
        } finally {
          isInside = false
        }
      })
    })
    if (isSuspect) await forgetSuspect(deps, kind, id)
    return made
  }
}
