// The ways in which an address is spelled that mean that one: with its domain in Unicode, with quotes, percent-encoded.
import { domainToUnicode } from 'node:url'
import { escapedPattern } from '../../rules/escapedPattern.ts'

/** The letters of a domain as it is in Unicode, each in its forms: either case, composed or not, since patterns ignore the case of ASCII at most. */
function unicodeForms(domain: string): string[][] {
  // Empty where the domain stands for no Unicode.
  return [...(domainToUnicode(domain) || domain)].map((letter) => {
    const cases = [letter, letter.toUpperCase()]
    return [...new Set(cases.flatMap((one) => [one.normalize('NFC'), one.normalize('NFD')]))]
  })
}

/**
 * Of an address with more characters that may be encoded each spelling would make the pattern so large that Postgres takes 100 times as long, and
 * an erasure would not end. Its owner has chosen it.
 */
const ENCODED_CHARS_MAX = 60

/** A pattern of the address in a text or in a link, of Postgres and of JavaScript. @param email in lower case */
export function spelledAddress(email: string): string {
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1)
  const shown = `${email.slice(0, at)}@${domainToUnicode(domain) || domain}`
  if (shown.replace(/[a-z0-9]+/g, '').length > ENCODED_CHARS_MAX)
    return usuallySpelled(email, shown)
  return addressPattern(email, oneOf)
}

/**
 * A pattern of an address, with quotes around what is before `@` or without, and with its domain in ASCII or in Unicode.
 * @param oneOf gives the pattern of one letter, which may be written in any of these forms
 */
export function addressPattern(email: string, oneOf: (forms: string[]) => string): string {
  const at = email.lastIndexOf('@')
  const domain = email.slice(at + 1)
  const asItIs = (text: string) => [...text].map((letter) => oneOf([letter])).join('')
  const local = asItIs(email.slice(0, at))
  const inAscii = asItIs(domain)
  const inUnicode = unicodeForms(domain).map(oneOf).join('')
  const domains = inUnicode === inAscii ? inAscii : `(?:${inAscii}|${inUnicode})`
  const quote = oneOf(['"'])
  return `(?:${local}|${quote}${local}${quote})${oneOf(['@'])}${domains}`
}

/** As it is and with its domain in Unicode, each also encoded as a whole. */
function usuallySpelled(email: string, shown: string): string {
  const spelled = [email, shown].flatMap((one) => [one, encodeURIComponent(one).toLowerCase()])
  return anyOf(spelled.map(escapedPattern))
}

/** Letters and digits of ASCII are never encoded; all others may be, also several times, as in a link within a link. */
function oneOf(forms: string[]): string {
  const spelled = forms.flatMap((form) => {
    const plain = escapedPattern(form)
    return /^[a-z0-9]$/i.test(form) ? plain.toLowerCase() : [plain, percentEncoded(form)]
  })
  return anyOf(spelled)
}

/** A pattern of any of these patterns. */
export function anyOf(patterns: readonly string[]): string {
  const all = [...new Set(patterns)]
  return all.length === 1 ? (all[0] ?? '') : `(?:${all.join('|')})`
}

const percentEncoded = (form: string): string =>
  [...Buffer.from(form)].map((byte) => `%(?:25)*${byte.toString(16).padStart(2, '0')}`).join('')
