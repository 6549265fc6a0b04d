// Text from html: readable, and safe for any input.
import { expect, test } from 'vitest'
import { textFromHtml, textInTurns } from '../../../mail/content/text.ts'
import { expectLinear } from '../../setup/growth.ts'

test('has the content of the html', () => {
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

test('only the first megabyte is read', () => {
  const text = textFromHtml(`<p>first</p>${'<i></i>'.repeat(200_000)}<p>last</p>`)
  expect(text).toBe('first')
})

test('extreme nesting: only the text between the tags', () => {
  const html = `<style>x</style><!-- y -->${'<div>'.repeat(5000)}Hello<script>z</script> <b>you</b>`
  expect(textFromHtml(html)).toBe('Hello you')
})

test.each([
  ['a&nbsp;b <b>c</b>d', 'a b cd'],
  ['a<br>b<br><br><br>c', 'a\nb\n\nc'],
  ['<pre>x  y\n  z</pre>', 'x  y\n  z'],
  ['<ol><li>a<li>b<ul><li>c</ul><li>d</ol>', ' 1. a\n 2. b\n   * c\n 3. d'],
  ['<blockquote><p>q</p><p>r</p></blockquote>s', '> q\n\n> r\n\ns'],
  ['<a href="mailto:x@y.z"><img src=x></a> end', '[x@y.z] end'],
  ['<a href="#top">up</a> <a>none</a>', 'up none'],
  ['<a href=http://a.test>a <b>c</b></a>, d', 'a c [http://a.test], d'],
  ['<a href="http://a.test">a<a href="http://b.test">b', 'a [http://a.test]b [http://b.test]'],
  ['a<hr>b', `a\n\n${'-'.repeat(40)}\n\nb`],
  ['<title>T</title><!--[if mso]><p>no</p><![endif]-->a &lt;b&gt;', 'a <b>'],
])('%j', (html, text) => {
  expect(textFromHtml(html)).toBe(text)
})

test('in slices: the same text, wherever a slice ends', async () => {
  const html = '<p>Grüße &amp; <a href="https://a.test/?b&amp;c">mehr</a> 😀<script>x</script></p>'
  for (let shift = 0; shift < html.length; shift += 7) {
    const long = '.'.repeat(shift) + html.repeat(1_700)
    expect(long.length).toBeGreaterThan(2 * 64 * 1024)
    expect(await textInTurns(long)).toBe(textFromHtml(long))
  }
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
])('%j for a megabyte costs what its size does', async (piece) => {
  await expectLinear((share) => {
    const text = textFromHtml(piece.repeat((megabyte * share) / piece.length))
    expect(text.length).toBeLessThanOrEqual(megabyte)
  })
})
