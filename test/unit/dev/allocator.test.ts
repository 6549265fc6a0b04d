// The malloc of API and worker: a library is named only where it is there, is in the process then, and its children start.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findAllocator, JEMALLOC_CONF } from '../../../dev/servers/allocator.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const THRESHOLDS = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '2097152' }

test.each([
  ['x64', '/usr/lib/x86_64-linux-gnu/libjemalloc.so.2'],
  ['arm64', '/usr/lib/aarch64-linux-gnu/libjemalloc.so.2'],
  ['x64', '/usr/lib64/libjemalloc.so.2'],
  ['arm64', '/usr/lib64/libjemalloc.so.2'],
] as const)('on %s jemalloc is found as %s', (arch, library) => {
  const found = findAllocator({ platform: 'linux', arch }, (file) => file === library)
  expect(found.env).toEqual({ LD_PRELOAD: library, MALLOC_CONF: JEMALLOC_CONF })
  expect(found.name).toBe(`jemalloc (${library})`)
  expect(found.advice).toBeUndefined()
})

const INSTALL = 'apt-get install libjemalloc2'
test.each([
  ['it is not installed', { platform: 'linux', arch: 'x64' }, () => false, INSTALL],
  ['the processor is another', { platform: 'linux', arch: 'riscv64' }, () => true, null],
  ['the system is another', { platform: 'darwin', arch: 'arm64' }, () => true, null],
  [
    'it is there for another processor alone',
    { platform: 'linux', arch: 'x64' },
    (file: string) => file.includes('aarch64'),
    INSTALL,
  ],
] as const)('nothing is preloaded where %s', (_, system, isThere, says) => {
  const { env, name, advice } = findAllocator(system, isThere)
  expect(env).toEqual(THRESHOLDS)
  expect(name).toBe("the C library's")
  if (says) expect(advice).toContain(says)
  else expect(advice).toBeUndefined()
})

/** Renders a template with a loop, which the child process does, and says what is mapped into this process. */
const SCRIPT = `
import { existsSync, readFileSync } from 'node:fs'
import { createRenderer } from './mail/content/renderer.ts'
const renderer = createRenderer({ warn: (facts) => console.error(facts) })
const html = '{% for x in (1..3) %}{{ x }}{% endfor %}'
const rendered = await renderer.render('ws', { subject: 's', html, text: null }, {})
await renderer.close()
const maps = existsSync('/proc/self/maps') ? readFileSync('/proc/self/maps', 'utf8') : ''
const libraries = new Set([...maps.matchAll(/\\/libjemalloc\\.so\\.2$/gm)].map(String))
console.log(JSON.stringify({ html: rendered.html, libraries: libraries.size }))
`

function runWith(env: Record<string, string>) {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', SCRIPT]
  // LD_PRELOAD and MALLOC_CONF of the tests themselves say nothing about what is tried here.
  const { LD_PRELOAD, MALLOC_CONF, ...own } = process.env
  const options = { cwd: ROOT, env: { ...own, ...env }, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options)
  return { status, stderr, said: stdout === '' ? undefined : JSON.parse(stdout) }
}

const here = findAllocator()
// A run of the suite in which a test was skipped counts as failed, so without jemalloc the test is another one.
const cases = !('LD_PRELOAD' in here.env)
  ? [{ what: 'without libjemalloc2 (not installed)', env: here.env, libraries: 0 }]
  : [
      { what: 'with jemalloc mapped', env: here.env, libraries: 1 },
      {
        what: 'with jemalloc named as in the image',
        env: { ...here.env, LD_PRELOAD: 'libjemalloc.so.2' },
        libraries: 1,
      },
    ]

test.each(cases)(
  'a process $what renders in its child, and the loader complains of nothing',
  ({ env, libraries }) => {
    const expected = { status: 0, stderr: '', said: { html: '123', libraries } }
    expect(runWith(env)).toEqual(expected)
  },
  120_000,
)
