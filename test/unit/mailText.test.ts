// Text out of html: readable for people, harmless whatever comes in.
import { expect, test } from 'vitest'
import { textFromHtml } from '../../mail/text.ts'

test('reads like the mail', () => {
  const html = `<html><head><title>T</title><style>p { color: red }</style></head><body>
    <h1>Hello &amp; welcome</h1><p>Read <a href="https://a.test/?x=1&amp;y=2">this</a> or
    <a href="https://a.test">https://a.test</a>.</p><img src="x.png" alt="logo"><script>alert(1)</script>
    <table><tr><td>One</td><td>Two</td></tr></table><ul><li>a<li>b</ul></body></html>`
  expect(textFromHtml(html)).toBe(
    [
      'Hello & welcome\n',
      'Read this [https://a.test/?x=1&y=2] or https://a.test.\n',
      'One\nTwo\n',
      ' * a',
      ' * b',
    ].join('\n'),
  )
})

test('no html, no text', () => {
  expect(textFromHtml('')).toBe('')
  expect(textFromHtml('<style>x</style>')).toBe('')
  expect(textFromHtml('just words')).toBe('just words')
})

test('the first megabyte alone is read', () => {
  const text = textFromHtml(`<p>first</p>${'<i></i>'.repeat(200_000)}<p>last</p>`)
  expect(text).toBe('first')
})

test('too deep: what stands between the tags', () => {
  const html = `<style>x</style><!-- y -->${'<div>'.repeat(5000)}Hello<script>z</script> <b>you</b>`
  expect(textFromHtml(html)).toBe('Hello you')
})

const megabyte = 1024 * 1024
test.each([
  '<div>',
  '<ul><li>a',
  '<p><li>',
  '<table><tr><td>a',
  '<div></p>',
  '<div></b>',
  '<blockquote>a<br>',
  '<a href="http://x">b',
  '<a ',
  '<',
  '<!--',
  '&amp;',
  '<br>',
  '<svg><![CDATA[',
  '<thead>',
  '</div>',
  'a\n',
])('%j for a megabyte takes no time worth mention', (piece) => {
  const started = performance.now()
  const text = textFromHtml(piece.repeat(megabyte / piece.length))
  expect(performance.now() - started).toBeLessThan(3000)
  expect(text.length).toBeLessThanOrEqual(megabyte)
})
