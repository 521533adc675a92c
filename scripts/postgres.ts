/**
 * A Postgres of its own for tests: on a free port of the loopback, in a temporary folder, from Debian's binaries.
 *
 *     npm run postgres                 starts one, prints its URL, and stops it when it is interrupted or its input ends
 *     npm run postgres -- npm test     runs a command with TEST_DATABASE_URL set, and stops it when that ends
 *
 * Postgres refuses to run as root, so root runs it as the user `postgres`, who comes with the package. What is kept isn't
 * synced to the disk: it is removed at the end.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { chownSync, existsSync, fstatSync, globSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { constants, tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

/** A server that runs. */
export interface Server {
  readonly url: string
  readonly pid: () => number
  /** Ends it at once, as `pg_ctl stop -m immediate` does. What was committed is kept. */
  readonly crash: () => Promise<void>
  /** Begins it again on the same port. */
  readonly begin: () => Promise<void>
  /** Stops it, and removes what it kept. */
  readonly stop: () => Promise<void>
}

/** The newest binaries that Debian's packages installed. */
const binaries = (): string => {
  const [newest] = globSync("/usr/lib/postgresql/*/bin").toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }))
  if (newest === undefined || !existsSync(join(newest, "initdb"))) {
    throw new Error("There is no Postgres in /usr/lib/postgresql: apt-get install postgresql")
  }
  return newest
}

/** The user that Postgres runs as, where this one is root. */
const owner = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: idOf("-u"), gid: idOf("-g") }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const exited = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once("exit", () => resolve())
  })

/** Waits until a server takes connections; fails with what it said where it ends before. */
const ready = (server: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    const said: Array<string> = []
    createInterface({ input: server.stderr! }).on("line", (line) => {
      said.push(line)
      if (line.includes("ready to accept connections")) resolve()
    })
    server.once("error", reject)
    server.once("exit", () => reject(new Error(`Postgres ended:\n${said.join("\n")}`)))
  })

/** Starts a server. */
export const start = async (): Promise<Server> => {
  const bin = binaries()
  const user = owner()
  const folder = mkdtempSync(join(tmpdir(), "postgres-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    if (user !== undefined) chownSync(folder, user.uid, user.gid)
    const data = join(folder, "data")
    const options = { ...user, cwd: folder, env: { PATH: process.env["PATH"], LC_ALL: "C" } }
    const made = spawnSync(
      join(bin, "initdb"),
      ["-D", data, "-U", "troupe", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
      { ...options, encoding: "utf8" }
    )
    if (made.status !== 0) throw made.error ?? new Error(`initdb failed:\n${made.stdout}${made.stderr}`)
    const port = await freePort()
    const settings = {
      listen_addresses: "127.0.0.1",
      port,
      unix_socket_directories: "",
      fsync: "off",
      max_connections: 200
    }
    let server: ChildProcess
    const begin = () => {
      server = spawn(
        join(bin, "postgres"),
        ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
        { ...options, stdio: ["ignore", "ignore", "pipe"] }
      )
      return ready(server)
    }
    const end = (signal: NodeJS.Signals) => {
      server.kill(signal)
      return exited(server)
    }
    const stop = async () => {
      // Ends the connections too.
      await end("SIGINT")
      remove()
    }
    await begin().catch(async (error: unknown) => {
      await stop()
      throw error
    })
    const pid = () => server.pid!
    return { url: `postgres://troupe@127.0.0.1:${port}/postgres`, pid, crash: () => end("SIGQUIT"), begin, stop }
  } catch (error) {
    remove()
    throw error
  }
}

/** Runs a command with a server, and gives the code that it ended with. */
const run = async (command: string, args: ReadonlyArray<string>): Promise<number> => {
  const { stop, url } = await start()
  const child = spawn(command, args, { stdio: "inherit", env: { ...process.env, TEST_DATABASE_URL: url } })
  // A terminal signals the whole group: the command ends by itself, and then the server.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal))
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGTERM"]))
  })
  return await ended.finally(stop)
}

/** Runs a server until this process is asked to end. */
const serve = async (): Promise<number> => {
  const { stop, url } = await start()
  console.log(url)
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve())
    // Who holds the other end of the pipe may die without a word.
    if (fstatSync(0).isFIFO()) process.stdin.resume().once("end", resolve)
    // Nothing else keeps this process.
    setInterval(() => {}, 2 ** 30)
  })
  await stop()
  return 0
}

if (import.meta.main) {
  const [command, ...args] = process.argv.slice(2)
  process.exit(await (command === undefined ? serve() : run(command, args)))
}
