// How large the html of an email may be as a request gives it; rendering has a limit of its own.
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** A refusal for html over 40 MB of UTF-8; undefined for all other. */
export function checkHtmlSize(html: string): Refusal<'html_too_large'> | undefined {
  const html_bytes = Buffer.byteLength(html)
  return html_bytes > limits.htmlBytesMax ? refuse('html_too_large', { html_bytes }) : undefined
}
