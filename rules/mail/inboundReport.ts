// What a message to a return path says: a bounce, a complaint, or nothing that matters.
import type { Bounce } from './bounceRules.ts'

export type InboundReport =
  | { kind: 'bounce'; bounce: Bounce; status: string | null }
  | { kind: 'complaint'; feedbackType: string }
  /** It is ignored; `what` says why, for the log. */
  | {
      kind: 'nothing'
      what: 'delayed' | 'delivered' | 'relayed' | 'expanded' | 'feedback' | OtherMail
    }

type OtherMail = 'auto_reply' | 'unrecognized' | 'unreadable'
