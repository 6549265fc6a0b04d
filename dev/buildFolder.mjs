// Where a build may be written: its folder is emptied first, so it must not hold anything else.
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve, sep } from 'node:path'

/** In every build; `npm run build` writes it last. */
export const BUNDLE = 'workflows.bundle.js'

/**
 * The whole path of a build's folder.
 * @throws Error with one sentence if it is the project itself or around it, or holds what is no build
 */
export function buildFolder(root, out) {
  const folder = resolve(root, out)
  if (folder === root || root.startsWith(folder.endsWith(sep) ? folder : folder + sep)) {
    throw new Error(`--out "${out}" would empty the project: name a folder of its own, as dist.`)
  }
  if (folder !== join(root, 'dist') && !isBuild(folder)) {
    throw new Error(
      `--out "${out}" holds something that is no build: name an empty or a new folder.`,
    )
  }
  return folder
}

function isBuild(folder) {
  if (!existsSync(folder)) return true
  const names = readdirSync(folder)
  return names.length === 0 || names.includes(BUNDLE)
}
