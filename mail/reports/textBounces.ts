// Recognises bounces that are written only for people, without a machine-readable part.
import { type Bounce, classifyReply } from '../../rules/mail/bounceRules.ts'
import { findStatus } from './statusCodes.ts'

/** How much of a body is read. The reason is at its beginning. */
const BODY_CHARS_MAX = 16 * 1024
/** The reply is cut after so many characters, because a later match would be in the returned message. */
const REPLY_CHARS_MAX = 2048

export interface TextMail {
  subject: string
  /** Header name in lower case → value. */
  header: (name: string) => string | undefined
  from: string
  body: string
}

// The comment above each is an example of such a notice. With these words nobody says that they will try again.
const finalOpenings: readonly RegExp[] = [
  // Hi. This is the qmail-send program at mx.example.
  /^\s*Hi\. This is the (?:qmail-send|deliver) program/i,
  // Your message did not reach some or all of the intended recipients. (Exchange without a report)
  /^Your message (?:\S+ )?(?:did not reach|didn't reach|wasn't delivered to|couldn't be delivered)/im,
  // Delivery to the following recipient failed permanently: (Gmail, formerly)
  /^Delivery to the following recipients? (?:has |have )?failed/im,
]
const openings: readonly RegExp[] = [
  ...finalOpenings,
  // This message was created automatically by mail delivery software. (Exim)
  /^This message was created automatically by mail delivery software/im,
  // I was unable to deliver your message to the following addresses. (Yahoo and others)
  /^(?:Sorry|I'm afraid|I), ?(?:(?:I )?was(?:n't| not) able|(?:I )?was unable|were unable) to deliver your message/im,
  // The following message could not be delivered to its recipient.
  /^(?:The|Your) (?:following )?(?:e-?mail|mail|message)[^.\n]{0,80} (?:could not|couldn't|cannot|can not) be delivered/im,
]

// Notices of mail systems, by sender and subject: User jo not listed in the directory (Domino, GroupWise, ...)
const MAILER = /\b(?:mailer-daemon|postmaster|mail delivery (?:sub)?system|mdaemon)\b/i
const FAILURE_SUBJECT =
  /undeliver(?:ed|able)|delivery (?:failure|failed|has failed|problem|error)|mail delivery (?:failed|system)|returned mail|failure notice|mail system error|non-?delivery|unzustellbar|non remis|no se pudo entregar|mancato recapito/i

/** A subject that begins with a failure; what follows may be that of the returned message. */
const FINAL_SUBJECT =
  /^\s*(?:undeliver(?:ed|able)|(?:mail )?delivery (?:failure|failed|has failed)|returned mail|failure notice|non-?delivery|unzustellbar)/i

/** What systems that go on trying say of themselves, and nobody else. */
const WARNING = /this is a warning message only|you do not need to resend/i
/** Words of such a warning that a failure may quote: of the reply of a server, or of the subject of the returned message. */
const DELAY =
  /delivery (?:has been |is |was )?delayed|(?:has|have) not yet been delivered|message delayed|delayed mail|will (?:be retried|keep trying|continue (?:to try|trying)|try again)/i

/** The subject of the returned message, in which any number and word may stand. */
const QUOTED_SUBJECT = /^[ \t]*(?:the )?subject(?: of (?:the|your) message)?(?: is)?:.*$/gim

/** Where the returned message begins. */
const ORIGINAL =
  /^(?:-{2,}[^\n]{0,60}(?:copy of|original|returned|below this line|message follows)|Received: |Return-Path: |DKIM-Signature: |Message-ID: )/im

/**
 * Reads a message that describes a bounce as text.
 * @returns null if it does not describe a bounce; `bounce` is null if delivery is only delayed
 */
export function readTextBounce(
  mail: TextMail,
): { bounce: Bounce | null; status: string | null } | null {
  const whole = mail.body.slice(0, BODY_CHARS_MAX)
  const body = whole.slice(0, ORIGINAL.exec(whole)?.index ?? whole.length)
  const isNotice =
    openings.some((opening) => opening.test(body)) ||
    mail.header('x-failed-recipients') !== undefined ||
    (MAILER.test(mail.from) && (FAILURE_SUBJECT.test(mail.subject) || isDelay(mail.subject)))
  if (!isNotice) return null
  const said = body.replace(QUOTED_SUBJECT, '')
  const { code, enhanced } = findStatus(said)
  const isFinal =
    (code ?? 0) >= 500 ||
    enhanced?.startsWith('5') ||
    FINAL_SUBJECT.test(mail.subject) ||
    finalOpenings.some((opening) => opening.test(body))
  const isDelayed = isFinal ? WARNING.test(body) : isDelay(`${mail.subject}\n${body}`)
  if (isDelayed) return { bounce: null, status: null }
  const start = code === null && enhanced === null ? 0 : said.indexOf(enhanced ?? String(code))
  const reply = said.slice(Math.max(start - 8, 0)).slice(0, REPLY_CHARS_MAX)
  if (code !== null || enhanced !== null) {
    return { bounce: classifyReply({ code, enhanced, reply }), status: enhanced }
  }
  // Without a code the words count only if they match a definite rule; otherwise the bounce is undetermined.
  const words = classifyReply({ code: 550, enhanced: null, reply })
  const definite = !(words.type === 'Permanent' && words.subtype === 'General')
  return {
    bounce: definite ? words : classifyReply({ code: null, enhanced: null, reply: '' }),
    status: null,
  }
}

const isDelay = (text: string): boolean => WARNING.test(text) || DELAY.test(text)
