// The Message-ID of an email: it names the email, so that a report that has nothing else leads back to it.
import { idPrefixes, isId } from '../ids.ts'

const PREFIX = `${idPrefixes.email}_`

/**
 * The Message-ID of an email, without angle brackets: `<id>.<salt>@<domain>`. The salt makes it known to those alone
 * who have the mail, whatever is known of ids.
 * @param salt random, base64url
 */
export function messageIdOf(emailId: string, salt: string, domain: string): string {
  return `${emailId.slice(PREFIX.length)}.${salt}@${domain}`
}

/**
 * The email that a Message-ID names; null for one of another form, such as those of mail that earlier releases
 * accepted. The caller compares the whole Message-ID with the email's.
 */
export function emailIdOf(messageId: string): string | null {
  const id = `${PREFIX}${/^([^.@]{26})\.[\w-]+@/.exec(messageId)?.[1] ?? ''}`
  return isId('email', id) ? id : null
}
