// Checks the size of an email's html in a request. Rendered html has another limit.
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** A refusal for html over 40 MiB of UTF-8; undefined for other html. */
export function checkHtmlSize(html_bytes: number): Refusal<'html_too_large'> | undefined {
  return html_bytes > limits.htmlBytesMax ? refuse('html_too_large', { html_bytes }) : undefined
}
