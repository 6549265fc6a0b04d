// npm test: runs vitest (with --all, also what takes long) and ends with one line of counts; nothing that failed or did not run passes.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { checkNode, ensureInstalled, run } from './install.mjs'

/** Characters of a failure in the list at the end. */
const FAILURE_LENGTH = 700

checkNode()
await ensureInstalled()

/** Words for a part of a project: `npm run soak -- --hostile`. */
const parts = {
  '--designs': 'test/soak/designs.test.ts',
  '--hostile': 'test/soak/hostile.test.ts',
  '--kills': 'test/soak/kills.test.ts',
  '--races': 'test/soak/waitRaces.test.ts',
}

/** Whole services that are killed, frozen and cut off: over half of the time of all tests. */
const LONG = 'test/e2e/!(slice|send).test.ts'

const words = process.argv.slice(2)
const given = words.filter((arg) => arg !== '--all').map((arg) => parts[arg] ?? arg)
const folder = mkdtempSync(join(tmpdir(), 'dripline-report-'))
const report = join(folder, 'report.json')
const code = await run(process.execPath, [
  'node_modules/vitest/vitest.mjs',
  'run',
  ...chosen(),
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...given,
])

const { passed, failed, skipped, failures } = readCounts()
rmSync(folder, { recursive: true, force: true })
if (skipped > 0) process.stdout.write(`${skipped} skipped\n`)
if (passed + failed === 0) process.stderr.write('No test ran.\n')
// Every test must have run, except where some were asked for by their names.
const byName = given.some((arg) => /^(-t|--testNamePattern)/.test(arg))
const incomplete = passed === 0 || (skipped > 0 && !byName)
for (const failure of failures) process.stdout.write(`failed: ${failure}\n`)
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(code !== 0 ? code : failed > 0 || incomplete ? 1 : 0)

/** The projects, where none is given; without `--all` or the name of a file nothing that takes long. */
function chosen() {
  if (given.some((arg) => arg.startsWith('--project'))) return []
  const usual = ['--project', 'unit', '--project', 'real']
  const named = words.some((arg) => arg === '--all' || !arg.startsWith('-'))
  return named ? usual : [...usual, '--exclude', LONG]
}

/** A file that cannot load, or servers that do not start, count as one failure although no test failed. */
function readCounts() {
  let counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 }
  try {
    counts = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    // vitest ended before it could report.
  }
  const files = counts.testResults ?? []
  const unloaded = files.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  )
  const failed = counts.numFailedTests + unloaded.length
  return {
    passed: counts.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: counts.numPendingTests + counts.numTodoTests,
    failures: files.flatMap(failuresOf),
  }
}

/** `FILE > TEST: MESSAGE` of each failed test of a file, on one line each. */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative(process.cwd(), name)
  if (assertionResults.length === 0) {
    return status === 'failed' ? [oneLine(`${file} > (did not load): ${message}`)] : []
  }
  return assertionResults
    .filter((test) => test.status === 'failed')
    .map((test) => {
      const title = [file, ...test.ancestorTitles, test.title].join(' > ')
      return oneLine(`${title}: ${test.failureMessages?.[0] ?? ''}`)
    })
}

/** Without the stack, and short: the whole message stands above. */
function oneLine(text) {
  const message = stripVTControlCharacters(text.split(/\n\s+at /)[0]).replace(/\s+/g, ' ')
  return message.length > FAILURE_LENGTH ? `${message.slice(0, FAILURE_LENGTH)}…` : message
}
