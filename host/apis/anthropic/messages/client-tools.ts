/**
 * Tools that Anthropic defines and the client runs, as functions. A request names only their type, because Anthropic's
 * models were trained with them. What their inputs are is in Anthropic's documentation of tool use: the pages of the
 * bash tool, the text editor tool and the memory tool.
 */

/** A tool as a function that a model can call. */
interface ClientTool {
  readonly description: string;
  /** The JSON Schema of the input. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Returns the tool that Anthropic defines as this type, and that the client runs; undefined for others. */
export const clientTool = (type: string): ClientTool | undefined =>
  Object.hasOwn(CLIENT_TOOLS, type) ? CLIENT_TOOLS[type] : undefined;

const text = (description: string) => ({ type: 'string', description });
const line = (description: string) => ({ type: 'integer', description });
const command = (commands: readonly string[]) => ({
  type: 'string',
  enum: commands,
  description: 'What to do.',
});

const LINES = {
  type: 'array',
  items: { type: 'integer' },
  minItems: 2,
  maxItems: 2,
  description: 'For view: the first line, from 1, and the last line, where -1 is the end. Default: all lines.',
};
const EDITED = {
  path: text('The path of the file; for view also of a folder.'),
  view_range: LINES,
  file_text: text('For create: the text of the file.'),
  old_str: text('For str_replace: the text to replace, exactly as it is in the file, where it must occur once.'),
  insert_line: line('For insert: the line behind which the text goes; 0 is the beginning of the file.'),
};
const EDITS = ['view', 'create', 'str_replace', 'insert'] as const;

const BASH: ClientTool = {
  description: 'Runs a command in a shell of bash, which keeps its state between calls, and returns its output.',
  parameters: {
    type: 'object',
    properties: {
      command: text('The command. Required unless restart is true.'),
      restart: { type: 'boolean', description: 'Whether the shell is started anew.' },
    },
  },
};

/** The editor whose edits can be undone, and whose insertions are in `new_str`. */
const FIRST_EDITOR: ClientTool = {
  description: 'Shows files and folders, creates files, and edits them.',
  parameters: {
    type: 'object',
    properties: {
      command: command([...EDITS, 'undo_edit']),
      ...EDITED,
      new_str: text('For str_replace: the new text. For insert: the text to insert.'),
    },
    required: ['command', 'path'],
  },
};

const EDITOR: ClientTool = {
  description: FIRST_EDITOR.description,
  parameters: {
    type: 'object',
    properties: {
      command: command(EDITS),
      ...EDITED,
      new_str: text('For str_replace: the new text.'),
      insert_text: text('For insert: the text to insert.'),
    },
    required: ['command', 'path'],
  },
};

const MEMORY: ClientTool = {
  description: 'Keeps notes in files below /memories, for later dialogs. Look there before you begin to work.',
  parameters: {
    type: 'object',
    properties: {
      command: command([...EDITS, 'delete', 'rename']),
      ...EDITED,
      new_str: text('For str_replace: the new text.'),
      insert_text: text('For insert: the text to insert.'),
      old_path: text('For rename: the path of the file or folder.'),
      new_path: text('For rename: its new path.'),
    },
    required: ['command'],
  },
};

const CLIENT_TOOLS: Readonly<Record<string, ClientTool>> = {
  bash_20250124: BASH,
  text_editor_20250124: FIRST_EDITOR,
  text_editor_20250429: EDITOR,
  text_editor_20250728: EDITOR,
  memory_20250818: MEMORY,
};
