// The tables of errors: every code with its status, and every code of a design's problems.
import { errorCodeNames, errorCodes } from '../../api/http/errorCodes.ts'
import { problemCodeNames, problemCodes } from '../../rules/design/problemCodes.ts'
import { code, markdownTable } from './markdown.ts'

/** A code that a link leads to: an answer's code is its own anchor. */
const anchored = (anchor: string, name: string) => `<a id="${anchor}"></a>${code(name)}`

/** Each `code`, with its status. */
export function errorCodesTable(): string {
  const rows = errorCodeNames.map((name) => {
    const { status, help } = errorCodes[name]
    return [anchored(name, name), String(status), help]
  })
  return markdownTable(['code', 'status', 'what it means, and what to do'], rows)
}

/** Each `problems[].code`. Some are codes of answers too, so their anchors have a word in front. */
export function problemCodesTable(): string {
  const rows = problemCodeNames.map((name) => [
    anchored(`problem-${name}`, name),
    problemCodes[name],
  ])
  return markdownTable(['code', 'what it means, and what to do'], rows)
}
