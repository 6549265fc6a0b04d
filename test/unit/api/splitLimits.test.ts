// What is kept of a large body, and what is refused of it while it comes.
import { expect, it } from 'vitest'
import { emailLargeFields } from '../../../api/emails/largeFields.ts'
import type { LargeText } from '../../../api/http/bodies/largeText.ts'
import { Splitter } from '../../../api/http/bodies/splitter.ts'

it('keeps a text up to its limit and counts all of it', () => {
  const small = { ...emailLargeFields, textBytesMax: 10 }
  const splitter = new Splitter(small, 1_000)
  splitter.push(Buffer.from(`{"html":"${'é'.repeat(50)}","text":"${'x'.repeat(10)}"}`))
  const { html, text } = splitter.done() as { html: LargeText; text: LargeText }
  expect([html.byteLength, html.bytes.length <= 10]).toEqual([100, true])
  expect([text.byteLength, text.bytes.toString()]).toEqual([10, 'x'.repeat(10)])
})

it('refuses more than 1 MiB beside the large texts while it comes', () => {
  const splitter = new Splitter(emailLargeFields, 2 ** 27)
  const push = () => {
    splitter.push(Buffer.from('{"html":"x","metadata":['))
    for (let i = 0; i < 1_000; i++) splitter.push(Buffer.from('[],'.repeat(10_000)))
  }
  expect(push).toThrow(
    'Everything in the body but html, text, attachments[].content must not exceed 1048576 bytes together',
  )
})
