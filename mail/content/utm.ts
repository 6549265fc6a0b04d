// Adds the utm parameters of a campaign to the links of an html text.
import { planTracking } from '../tracking/rewrite.ts'

/** By their names without `utm_`, in the order in which they are added. */
export type UtmValues = Readonly<Record<string, string>>

/**
 * Adds them to every http and https link that is tracked when tracking is on. Query and fragment of a link stay as they
 * are, and a parameter that a link has already keeps the link's own value. Empty values are left out.
 * @param isOwnUrl whether a link belongs to this service: to unsubscribe, it stays as it is
 */
export function withUtm(
  html: string,
  values: UtmValues,
  isOwnUrl: (url: string) => boolean,
): string {
  const given = Object.entries(values).filter(([, value]) => value !== '')
  if (given.length === 0) return html
  const { pieces, urls } = planTracking(html, { opens: false, clicks: true, isOwnUrl })
  const tagged = urls.map((url) => escapeValue(tagUrl(url, given)))
  return pieces
    .map((piece) => {
      if (typeof piece === 'string') return piece
      return 'link' in piece ? (tagged[piece.link] ?? '') : ''
    })
    .join('')
}

function tagUrl(url: string, given: [name: string, value: string][]): string {
  const hash = url.indexOf('#')
  const [before, fragment] = hash < 0 ? [url, ''] : [url.slice(0, hash), url.slice(hash)]
  const mark = before.indexOf('?')
  const query = mark < 0 ? '' : before.slice(mark + 1)
  const present = new Set(query.split('&').map((pair) => pair.split('=')[0]?.toLowerCase()))
  const added = given
    .filter(([name]) => !present.has(`utm_${name}`))
    .map(([name, value]) => `utm_${name}=${encodeURIComponent(value.toWellFormed())}`)
  if (added.length === 0) return url
  const joint = mark < 0 ? '?' : query === '' || query.endsWith('&') ? '' : '&'
  return `${before}${joint}${added.join('&')}${fragment}`
}

/** Safe in double quotes, in single quotes and without quotes. */
const escapeValue = (url: string): string =>
  url.replace(/[\s"'`<>&]/g, (char) => (char === '&' ? '&amp;' : `&#${char.charCodeAt(0)};`))
