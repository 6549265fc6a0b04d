// How far a build with Go is, from what Go prints.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  compileProgress,
  countModules,
  packagesOf,
  sourceFolderIn,
} from '../../../dev/servers/goBuild.ts'

const packages = ['a', 'b', 'c', 'd'].map((path) => ({ path, bytes: 1_000 }))
const said = (started: string[], compiling_ms: number) =>
  compileProgress(packages, new Set(started), compiling_ms, 40, 1)

test('a package that Go has named last is still being compiled', () => {
  expect(said(['a'], 5_000)).toBe('building: 0%, 1 of 4 packages, 40 s')
  expect(said(['a', 'b'], 5_000)).toBe('building: 25%, 2 of 4 packages, 40 s')
})

test('the time that is left is a rough guess, once there is something to go by', () => {
  expect(said(['a', 'b'], 30_000)).toMatch(/25%.*, about 2 minutes left$/)
  expect(said(['a', 'b', 'c'], 60_000)).toMatch(/50%.*, about a minute left$/)
  expect(said(['a', 'b', 'c'], 20_000)).toMatch(/50%.*, less than half a minute left$/)
})

test('when all are begun only the last of it and linking are left', () => {
  expect(said(['a', 'b', 'c', 'd'], 90_000)).toBe('building: all compiled, linking, 40 s')
  // Everything may be in the cache of Go already.
  expect(compileProgress([], new Set(), 500, 3, 2)).toMatch(/linking, 3 s$/)
})

test('packages weigh what their files do; other lines are not packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-go-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'one.go'), 'x'.repeat(10))
  writeFileSync(join(folder, 'two.go'), 'x'.repeat(5))
  const listed = `go: downloading a v1\n\npackage x/y\t${folder}\tone.go\ttwo.go\npackage z\t${folder}\t\n`
  expect(packagesOf(listed)).toEqual([
    { path: 'x/y', bytes: 15 },
    { path: 'z', bytes: 0 },
  ])
})

test('the modules of a go.mod are counted', () => {
  const goMod = [
    'module example.com/x',
    'go 1.25.0',
    'require example.com/a v1.0.0',
    'require (',
    '\texample.com/b/v2 v2.0.0 // indirect',
    '\tgopkg.in/yaml.v3 v3.0.1',
    ')',
  ].join('\n')
  expect(countModules(goMod)).toBe(3)
})

test('the folder of the sources is read after what Go says of a newer version of itself', () => {
  const json = '{\n\t"Path": "example.test/cli",\n\t"Dir": "/go/mod/cli@v1.5.1"\n}\n'
  const switching = 'go: example.test/cli requires go >= 1.25.0; switching to go1.25.3\n'
  for (const printed of [json, switching + json]) {
    expect(sourceFolderIn(printed)).toBe('/go/mod/cli@v1.5.1')
  }
})
