// Follows a page of the docs as its reader does: runs its commands in order, and holds the answers against those it shows.
import { expect } from 'vitest'
import { type Fence, fencesOf } from './docs.ts'
import { openShell, type Shell, type ShellResult } from './shell.ts'

/** Starting the service, and the suite itself, are what this runs in; the others are of an operator's own machine. */
const calls = ({ language, text }: Fence) => language === 'sh' && /\bcurl\b|\$\(node -p/.test(text)
const helps = ({ language, text }: Fence) => language === 'sh' && /^\w+\(\) \{/m.test(text)

/** The commands of a page that call the API, and what they need for it, in order. */
export function commandsOf(page: string): Fence[] {
  return fencesOf([page]).filter((fence) => calls(fence) || helps(fence))
}

/** The answer that a page shows below each of its commands, by the line of the command's fence. */
function shownAnswers(page: string): Map<number, Fence> {
  const answers = new Map<number, Fence>()
  let command: Fence | undefined
  for (const fence of fencesOf([page])) {
    if (fence.language === 'sh') command = fence
    else if (fence.language === 'json' && fence.info === 'answer' && command) {
      answers.set(command.line, fence)
    }
  }
  return answers
}

/** Runs one command. It must end well, and every answer that it had must be of 2xx. */
export async function runCommand(shell: Shell, fence: Fence): Promise<ShellResult> {
  const where = `${fence.page}:${fence.line}`
  const result = await shell.run(fence.text)
  const said = `${where}\n${result.output}\n${result.errors}`
  expect(result.code, said).toBe(0)
  expect(result.errors.trim(), said).toBe('')
  const calls = fence.text.match(/\bcurl -/g)?.length ?? 0
  expect(result.statuses, said).toHaveLength(calls)
  for (const status of result.statuses) expect(Math.floor(status / 100), said).toBe(2)
  return result
}

/**
 * Runs all commands of a page; what it shows as an answer must have the form of the last one that came.
 * @param folder the reader's own, with the `.data` of a running service
 */
export async function followPage(page: string, folder: string): Promise<void> {
  const shell = openShell(folder)
  try {
    const answers = shownAnswers(page)
    for (const fence of commandsOf(page)) {
      const { output } = await runCommand(shell, fence)
      const shown = answers.get(fence.line)
      if (shown) expectForm(lastJson(output), JSON.parse(shown.text), `${page}:${shown.line}`)
    }
  } finally {
    shell.close()
  }
}

/** The last of several JSON texts that stand one behind the other. */
function lastJson(output: string): unknown {
  const text = output.trim()
  for (let start = text.lastIndexOf('{'); start >= 0; start = text.lastIndexOf('{', start - 1)) {
    // An inner object is JSON too: only one that begins the output or follows another one's end is whole.
    if (start > 0 && !/[}\]\n]/.test(text.charAt(start - 1))) continue
    try {
      return JSON.parse(text.slice(start))
    } catch {}
  }
  throw new Error(`no JSON in: ${output}`)
}

/** Every key that is shown is there, with a value of the same type; null stands for any. */
function expectForm(actual: unknown, shown: unknown, where: string): void {
  if (shown === null) return
  if (Array.isArray(shown)) {
    expect(Array.isArray(actual), `${where} is no list`).toBe(true)
    const items = actual as unknown[]
    for (const [i, item] of shown.entries()) expectForm(items[i], item, `${where}.${i}`)
    return
  }
  expect(typeof actual, where).toBe(typeof shown)
  if (typeof shown !== 'object') return
  for (const [key, value] of Object.entries(shown)) {
    expectForm((actual as Record<string, unknown>)[key], value, `${where}.${key}`)
  }
}
