// A build empties its folder first: it must never be the project, or hold something else.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { BUNDLE, buildFolder } from '../../../dev/buildFolder.mjs'

function project(): string {
  const root = mkdtempSync(join(tmpdir(), 'dripline-build-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'docs'))
  writeFileSync(join(root, 'docs', 'a.md'), '')
  return root
}

test.each(['', '.', '..', '/', 'docs/..'])('--out "%s" is the project or around it', (out) => {
  expect(() => buildFolder(project(), out)).toThrow(/would empty the project/)
})

test('a folder with other files is refused', () => {
  expect(() => buildFolder(project(), 'docs')).toThrow(/holds something that is no build/)
})

test('dist, a new folder, an empty one and an earlier build are taken', () => {
  const root = project()
  mkdirSync(join(root, 'dist', 'api'), { recursive: true })
  mkdirSync(join(root, 'empty'))
  mkdirSync(join(root, 'earlier'))
  writeFileSync(join(root, 'earlier', BUNDLE), '')
  for (const out of ['dist', 'new', 'empty', 'earlier', join(dirname(root), 'beside-it')]) {
    expect(buildFolder(root, out)).toBe(join(out.startsWith('/') ? '' : root, out))
  }
})
