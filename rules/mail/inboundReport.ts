// What a mail that came to a return path says: a bounce, a complaint, or nothing that changes anything.
import type { Bounce } from './bounceRules.ts'

export type InboundReport =
  | { kind: 'bounce'; bounce: Bounce; status: string | null }
  | { kind: 'complaint'; feedbackType: string }
  /** Nothing follows from it; `what` says why, for the log. */
  | {
      kind: 'nothing'
      what: 'delayed' | 'delivered' | 'relayed' | 'expanded' | 'feedback' | OtherMail
    }

type OtherMail = 'auto_reply' | 'unrecognized' | 'unreadable'
